-- Gateways refuse the requests of a key that can pay for nothing before they do any work for them. So gateways are
-- notified at once when an account gets credits. Charges and holds cause no notification, because they come with every
-- request. The next look-up of a key reads whether it can still pay.
--
-- Only an account that had less than one credit causes a notification. Numbering a key takes the lock of the one
-- counter of all keys until the transaction ends, and an account with more credits can pay for a request at any usual
-- price. Where one token costs more than that, gateways learn of the credits a second later, when they ask again.
--
-- All keys of the account are locked before the first of them is numbered, because a change of a key also locks the key
-- before the counter.
create function number_keys_of_credited_account() returns trigger language plpgsql as $$
begin
  perform 1 from api_keys where account_id = new.id and status = 'active' order by id for no key update;
  update api_keys set status = status where account_id = new.id and status = 'active';
  return null;
end
$$;

create trigger account_credited after update of posted on accounts
  for each row when (new.posted > old.posted and old.posted < 1000000000) execute function number_keys_of_credited_account();
