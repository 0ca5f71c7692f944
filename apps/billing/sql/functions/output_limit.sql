-- Returns the most output tokens that a generation may have, regardless of its credits.
--
-- In:  tokens: wanted, the model's max_output and context_window, input.
-- Out: tokens. The gateway's estimate of the input may exceed the context window although the real input does not, so
--      one token always remains.
create or replace function output_limit(wanted integer, max_output integer, context_window integer, input integer)
returns integer language sql immutable parallel safe as $$
  select least(wanted, max_output, greatest(context_window - input, 1))
$$;
