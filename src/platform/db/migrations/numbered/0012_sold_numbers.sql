-- The operator looks through the numbers of all accounts, those bought last first: ids ascend with time.
create index virtual_numbers_by_id on virtual_numbers (id) where released_at is null;
