-- If a key can pay for no request, gateways refuse its requests before they do any work. So gateways are notified at
-- once when an account gets credits. Charges and holds cause no notification, because they come with every request. The
-- next look-up of a key reads whether it can still pay.
--
-- Only an account that had less than one credit causes a notification. A notification gives each active key of the
-- account a new version, under the lock of the one counter of all keys, which lasts until the transaction ends. An
-- account with more than one credit can pay for a request at any usual price. If a model's token costs more than one
-- credit, gateways learn of the new credits a second later, when they ask again.
--
-- All active keys of the account are locked before the first of them gets its new version, because a change of a key
-- also locks the key before the counter.
create function number_keys_of_credited_account() returns trigger language plpgsql as $$
begin
  perform 1 from api_keys where account_id = new.id and status = 'active' order by id for no key update;
  update api_keys set status = status where account_id = new.id and status = 'active';
  return null;
end
$$;

create trigger account_credited after update of posted on accounts
  for each row when (new.posted > old.posted and old.posted < 1000000000) execute function number_keys_of_credited_account();
