-- When the first paid month of a number began: every later one is counted from here, so that a number of the 31st does not stay on the
-- 28th after its first February. What was ordered elsewhere began with its delivery, of which only the end of the month tells.
alter table virtual_numbers add column months_from timestamptz;
update virtual_numbers v set months_from = case
  when exists (select from number_orders o where o.account_id = v.account_id and o.virtual_number_id = v.id)
    then v.expires_at - interval '1 month'
  else v.created_at
end;
alter table virtual_numbers alter column months_from set default app_now(), alter column months_from set not null;
