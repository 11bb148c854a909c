-- compatible: no
--
-- Calls that the API makes, commands on running calls, and status callbacks of calls. Not compatible: the last release would
-- place a queued call of the API as a verification call.

-- program: what the call executes, as the API took it: {kind: application, url or verbs, …}; null: another behaviour.
-- placement: how the API wants it placed: {ring_seconds, most_seconds, send_digits, record, headers}. Erased at the end, because
-- digits and verbs may be secret.
-- due_at: when a queued call may be placed; null: at once.
-- callbacks: who gets its statuses: {url, method, events, shape, application}; null: nobody.
-- callbacks_sent: reports so far, the number of the next one.
-- ringing_at: the other side rings, of calls that the API made.
alter table calls
  add column program jsonb,
  add column placement jsonb,
  add column due_at timestamptz,
  add column callbacks jsonb,
  add column callbacks_sent integer not null default 0,
  add column ringing_at timestamptz,
  add column if not exists application_id uuid,
  add column if not exists tags jsonb;
create index calls_waiting on calls (account_id, due_at) where queued and ended_at is null and due_at is not null;

-- Calls that the API may begin in a second; null: the default of the settings.
alter table call_limits add column calls_per_second integer;

-- Commands on running calls. The process that runs the calls executes them in order, and answers in the row. Rows are
-- removed after a day.
create table call_commands (
  account_id uuid not null,
  id uuid not null,
  call_id uuid not null,
  -- Once it has an outcome, its name alone: verbs and keys may be secret.
  command jsonb not null,
  created_at timestamptz not null default app_now(),
  -- The epoch of the process that executes it.
  epoch bigint,
  -- {ok: true, …} or {ok: false, code, reason}.
  outcome jsonb,
  done_at timestamptz,
  primary key (account_id, id),
  foreign key (account_id, call_id) references calls
);
create index call_commands_waiting on call_commands (id) where done_at is null;
create index call_commands_by_time on call_commands (created_at);

-- Reports a status of a call: adds a job in the statement that changes the call, so no status is lost and none is reported
-- that was rolled back. Calls without callbacks do not call it: the condition of the trigger is checked first.
create function call_report_status() returns trigger language plpgsql set jit = off as $$
declare
  progress text := case
    when new.ended_at is not null then 'completed'
    when new.status = 'ANSWERED' then 'answered'
    when new.status = 'RINGING' then 'ringing'
    when not new.queued then 'initiated'
  end;
begin
  if progress is null or not new.callbacks -> 'events' ? progress then return new; end if;
  insert into jobs (id, account_id, kind, key, payload, run_at, created_at)
  values (twilio_job_id(), new.account_id,
    case new.callbacks ->> 'shape' when 'twilio' then 'twilio.call_status' else 'call.status' end, new.id::text,
    jsonb_build_object('call', new.id, 'event', progress, 'status', new.status, 'sequence', new.callbacks_sent,
      'at', (select app_now())),
    (select app_now()), (select app_now()));
  new.callbacks_sent := new.callbacks_sent + 1;
  return new;
end $$;
create trigger call_report_begin before insert on calls for each row
  when (new.callbacks is not null and not new.queued) execute function call_report_status();
create trigger call_report_change before update of status, queued on calls for each row
  when (new.callbacks is not null and (new.status is distinct from old.status or new.queued is distinct from old.queued))
  execute function call_report_status();
