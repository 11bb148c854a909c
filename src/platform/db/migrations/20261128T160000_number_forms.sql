-- Numbers in forms that a numbering plan replaced, or that stand beside another form: one number is one person. The rules
-- and their sources are in packages/phone/src/number-forms.ts; a test compares these functions with them.

-- The number in the form that can be dialled today. Without STRICT, so that the planner inlines it.
create function current_number(number text) returns text language sql immutable parallel safe
as $$
  select case left(number, 3)
    when '+55' then regexp_replace(number,
      '^\+55([14689][1-9]|2[12478]|3[1-578]|5[13-5]|7[13-579])([6-9]\d{7})$', '+55\19\2')
    when '+52' then regexp_replace(number, '^\+521([2-9]\d{9})$', '+52\1')
    when '+22' then case
      when number ~ '^\+229[24-69]\d{7}$' then '+22901' || substr(number, 5)
      when number ~ '^\+225[045789]\d{7}$' then
        '+2250' || translate(substr(number, 6, 1), '0123456789', '1111555777') || substr(number, 5)
      else number end
    when '+84' then case when number ~ '^\+841\d{9}$' then coalesce('+84' || (array[
        '70', '79', '77', '83', '84', '85', '76', '81', '78', '82', '32', '33', '34', '35', '36', '37', '38', '39', '56', '58',
        '59'])[array_position(array[
        '120', '121', '122', '123', '124', '125', '126', '127', '128', '129', '162', '163', '164', '165', '166', '167',
        '168', '169', '186', '188', '199'], substr(number, 4, 3))] || substr(number, 7), number) else number end
    else number end
$$;

-- The form under which a person is known. In Argentina a number is dialled with and without the 9 of mobiles.
create function canonical_number(number text) returns text language sql immutable parallel safe
as $$
  select case when left(number, 3) = '+54' then regexp_replace(number, '^\+54([1-3]\d{9})$', '+549\1')
    else current_number(number) end
$$;

-- The form in which a network or a person gave the number of the counterpart, which is dialled; null: the counterpart.
alter table conversations add column number text;

-- The form of a person's number that the network gave, if it has several: messages are sent to it.
alter table msgapp_chats add column dialled text;

-- The network's id of the channel's number, by which its callbacks name the channel.
alter table msgapp_channels add column network_id text;
create index msgapp_channels_by_network_id on msgapp_channels (connection_id, network_id) where deleted_at is null;

-- Opt-outs are stored by the canonical form. The functions compare it.
do $$
declare
  name text;
  before text;
  after text;
begin
  foreach name in array array['sms_accept', 'sms_accept_batch'] loop
    select pg_get_functiondef(oid) into strict before from pg_proc
    where proname = name and pronamespace = current_schema()::regnamespace;
    after := replace(before, 'o.contact = g.contact', 'o.contact = canonical_number(g.contact)');
    if after = before then raise exception '% does not look up opt-outs as expected', name; end if;
    execute after;
  end loop;
end $$;
