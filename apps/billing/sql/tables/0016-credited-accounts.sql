-- Gateways refuse the requests of a key that can pay for nothing before they do any work for them, so they learn at once
-- of credits that an account gets. Charges and holds are not sent: they come with every request, and whether a key can
-- still pay is read with its next look-up.
--
-- Only for an account that had less than one credit: numbering a key takes the lock of the one counter of all keys until
-- the transaction ends, and an account with more can pay for a request at any usual price. Where one token costs more
-- than that, gateways learn of the credits a second later, when they ask again.
--
-- The keys are locked before the first of them is numbered: a change of one of them locks it, too, before it counts.
create function number_keys_of_credited_account() returns trigger language plpgsql as $$
begin
  perform 1 from api_keys where account_id = new.id and status = 'active' order by id for no key update;
  update api_keys set status = status where account_id = new.id and status = 'active';
  return null;
end
$$;

create trigger account_credited after update of posted on accounts
  for each row when (new.posted > old.posted and old.posted < 1000000000) execute function number_keys_of_credited_account();
