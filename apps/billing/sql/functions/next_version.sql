-- Raises a counter of changes.
--
-- In:  counter ('keys' or 'catalog').
-- Out: the counter's new version. Other changes of the same kind wait until this transaction ends.
create or replace function next_version(counter text) returns bigint language sql as $$
  update change_counters set version = version + 1 where name = counter returning version
$$;
