-- +goose Up
-- What became of an exception, and by whom. event: the message's event that it came with; candidates: 20 bytes an
-- attempt's part that it may be about.
alter table exception drop column open;
alter table exception add column state bigint not null default 1;
alter table exception add column event bigint not null default 0;
alter table exception add column candidates bytea not null default '';
alter table exception add column resolved_at bigint not null default 0;
alter table exception add column resolved_by text not null default '';
alter table exception add column resolved_reason text not null default '';
alter table exception add column to_message bytea not null default '';
alter table exception add column to_attempt bigint not null default 0;
alter table exception add column to_part bigint not null default 0;
create index exception_open on exception (tenant, at, id) where state = 1;
create index exception_by_receipt on exception (receipt_id) where length(receipt_id) > 0;
create index exception_by_group on exception (tenant, connection, kind, hour, at, id) where state = 1;

-- How many of those that were kept are open.
alter table exception_group add column open bigint not null default 0;
update exception_group set open = (select count(*) from exception x where x.tenant = exception_group.tenant
  and x.connection = exception_group.connection and x.kind = exception_group.kind and x.hour = exception_group.hour);
create index exception_group_by_hour on exception_group (tenant, hour, connection, kind);

-- How often a receipt could not be settled.
alter table intake add column tries bigint not null default 0;

-- Former readings of receipts that were read again; the receipt itself has the current one.
create table receipt_reading (
  receipt_id bytea not null, until bigint not null, replaced_by text not null, replaced_reason text not null, kind text not null,
  provider_event_id text not null, external_id bytea not null, reference bigint not null,
  status text not null, state text not null, error_code text not null, source text not null, dest text not null,
  submit_date text not null, done_date text not null, parsed text not null, parser text not null, event_key bytea not null,
  primary key (receipt_id, until)
);

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
alter table exception add column open bigint not null default 1;
