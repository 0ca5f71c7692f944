-- The constraint is validated apart from its creation, so that no writer of accounts waits for the check of all rows.
alter table accounts validate constraint weight_within_bounds;
