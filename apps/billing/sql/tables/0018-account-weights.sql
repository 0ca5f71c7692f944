-- The weight of an account is its share of a saturated model, relative to the other accounts. Gateways read it with the
-- account's keys, so a change of it is a change of all of them.
alter table accounts add column weight integer not null default 1;
alter table accounts add constraint weight_within_bounds check (weight between 1 and 100) not valid;

create trigger account_weight_changed after update of weight on accounts
  for each row when (old.weight is distinct from new.weight) execute function number_keys_of_account();
