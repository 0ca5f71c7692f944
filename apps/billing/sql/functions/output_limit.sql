-- Returns the most output tokens that a request may have, regardless of its credits.
--
-- In:  tokens: wanted in all, the model's max_output and context_window, input; choices: how many answers the
--      request has to this input.
-- Out: tokens. The gateway's estimate of the input may exceed the context window although the real input does not, so
--      one token of each choice always remains.
create or replace function output_limit(
  wanted integer, max_output integer, context_window integer, input integer, choices integer
) returns integer language sql immutable parallel safe as $$
  select least(wanted, choices::bigint * least(max_output, greatest(context_window - input, 1)))::integer
$$;
