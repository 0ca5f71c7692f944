-- What embedding models give, and availability that is fixed for tests.
--
-- Embedding models from before have no known length of their vectors. Nothing could call them then, so they wait
-- disabled until the catalog file, which knows it, is loaded again.

alter table models
  add column embedding_dimensions integer check (embedding_dimensions > 0),
  add column matryoshka boolean,
  add column fixed_state text check (fixed_state in ('busy', 'warming'));

update models set embedding_dimensions = 1, matryoshka = false, enabled = false where kind = 'embedding';

alter table models add constraint embedding_models_have_dimensions
  check (num_nulls(embedding_dimensions, matryoshka) = case kind when 'embedding' then 0 else 2 end);
