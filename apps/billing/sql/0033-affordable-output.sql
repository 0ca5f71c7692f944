-- As in 0006-price.sql, in a form that PostgreSQL inlines: a function with a subselect is a query of its own, at every
-- call.
create or replace function affordable_output(
  available bigint, input bigint, most integer, input_price bigint, output_price bigint
) returns integer language sql immutable parallel safe as $$
  select case
    when available::numeric * 1000000 < input::numeric * input_price then null
    when output_price = 0 or most = 0 then most
    when available::numeric * 1000000 - input::numeric * input_price < output_price then null
    else least(most, div(available::numeric * 1000000 - input::numeric * input_price, output_price))::integer
  end
$$;
