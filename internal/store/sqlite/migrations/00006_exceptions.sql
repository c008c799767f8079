-- +goose Up
-- What became of an exception, and by whom. event: the message's event that it came with; candidates: 20 bytes an
-- attempt's part that it may be about.
alter table exception drop column open;
alter table exception add column state integer not null default 1;
alter table exception add column event integer not null default 0;
alter table exception add column candidates blob not null default x'';
alter table exception add column resolved_at integer not null default 0;
alter table exception add column resolved_by text not null default '';
alter table exception add column resolved_reason text not null default '';
alter table exception add column to_message blob not null default x'';
alter table exception add column to_attempt integer not null default 0;
alter table exception add column to_part integer not null default 0;
create index exception_open on exception (tenant, at, id) where state = 1;
create index exception_by_receipt on exception (receipt_id) where length(receipt_id) > 0;
create index exception_by_group on exception (tenant, connection, kind, hour, at, id) where state = 1;

-- How many of those that were kept are open.
alter table exception_group add column open integer not null default 0;
update exception_group set open = (select count(*) from exception x where x.tenant = exception_group.tenant
  and x.connection = exception_group.connection and x.kind = exception_group.kind and x.hour = exception_group.hour);
create index exception_group_by_hour on exception_group (tenant, hour, connection, kind);

-- How often a receipt could not be settled.
alter table intake add column tries integer not null default 0;

-- Former readings of receipts that were read again; the receipt itself has the current one.
create table receipt_reading (
  receipt_id blob not null, until integer not null, replaced_by text not null, replaced_reason text not null, kind text not null,
  provider_event_id text not null, external_id blob not null, reference integer not null,
  status text not null, state text not null, error_code text not null, source text not null, dest text not null,
  submit_date text not null, done_date text not null, parsed text not null, parser text not null, event_key blob not null,
  primary key (receipt_id, until)
) without rowid;

-- +goose Down
drop table receipt_reading;
alter table intake drop column tries;
drop index exception_group_by_hour;
alter table exception_group drop column open;
drop index exception_by_group;
drop index exception_by_receipt;
drop index exception_open;
alter table exception drop column to_part;
alter table exception drop column to_attempt;
alter table exception drop column to_message;
alter table exception drop column resolved_reason;
alter table exception drop column resolved_by;
alter table exception drop column resolved_at;
alter table exception drop column candidates;
alter table exception drop column event;
alter table exception drop column state;
alter table exception add column open integer not null default 1;
