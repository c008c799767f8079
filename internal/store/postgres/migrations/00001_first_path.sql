-- +goose Up
create table meta (name text primary key, value text not null);
-- Whose row is locked gives events their numbers: one node at a time.
insert into meta (name, value) values ('sequencer', '');

create table tenant (id bigint primary key, name text not null unique);

create table connection (id bigint primary key, name text not null unique, id_space bigint not null);

create table flow (
  id bigint primary key, connection bigint not null, lane bigint not null, tenant bigint not null, sender text not null,
  unique (connection, lane, tenant, sender)
);

create table policy (name text not null, version bigint not null, source bytea not null, primary key (name, version));

create table policy_head (id bigint primary key, name text not null, version bigint not null);

create table api_key (
  id text primary key, tenant bigint not null, name text not null, hash bytea not null, scopes text not null,
  created_at bigint not null, revoked_at bigint not null
);

create table sealing_key (id bigint generated always as identity primary key, tenant bigint not null, day bigint not null, wrapped bytea not null, unique (tenant, day));

create table own_key (message_id bytea primary key, wrapped bytea not null, ends bigint not null);

create table bind_slot (
  connection bigint not null, n bigint not null, node bytea not null, fence bigint not null, lease_until bigint not null,
  primary key (connection, n)
);

-- Who holds a key, and until when. Keys are keyed hashes of 16 bytes; spaces are small numbers.
create table register (
  space bigint not null, key bytea not null, owner bytea not null, ends bigint not null, primary key (space, key)
) partition by list (space);
create table register_idempotency partition of register for values in (1) with (fillfactor = 80);
create table register_intent partition of register for values in (2) with (fillfactor = 80);
create table register_event partition of register for values in (6) with (fillfactor = 90);
create table register_other partition of register default;

-- One row a decision; never changed.
create table decision (
  id bytea primary key, tenant bigint not null, at bigint not null,
  action bigint not null, class bigint not null, reason text not null, rule text not null, policy_id text not null,
  explanation text not null, window_ends bigint not null, same_text bigint not null, previous_state bigint not null,
  message_id bytea not null, shown_state bigint not null, shown_delivery text not null, shown_attempts bigint not null,
  purpose text not null, destination text not null, sender text not null,
  event_type text not null, event_id text not null, event_version text not null,
  template_id text not null, template_version text not null, correlation_id text not null,
  intent_key bytea not null, idempotency_key bytea not null, text_key bytea not null,
  fingerprint_version bigint not null, fingerprint bytea not null, fingerprint_fields bytea not null, caller text not null
);
create index decision_by_time on decision (tenant, at, id);
create index decision_by_message on decision (message_id, at, id);

-- What never changes about a message.
create table message (
  id bytea primary key, tenant bigint not null, created_at bigint not null, decision_id bytea not null,
  purpose text not null, kind text not null, policy_id text not null,
  destination text not null, sender text not null,
  event_type text not null, event_id text not null, event_version text not null,
  template_id text not null, template_version text not null, correlation_id text not null,
  connection bigint not null, flow bigint not null,
  intent_key bytea not null, variant_key bytea not null, text_key bytea not null,
  event_bound bigint not null, while_states bigint not null,
  content bytea not null, metadata bytea not null, valid_until bigint not null, receipt_until bigint not null
);
create index message_by_time on message (tenant, created_at, id);
create index message_by_destination on message (destination, created_at, id);
create index message_by_key on message (intent_key, created_at, id);
create index message_by_event on message (event_id, created_at, id) where event_id <> '';
create index message_by_correlation on message (correlation_id, created_at, id) where correlation_id <> '';

-- What does. The partial index is the queue: a flow's number, or a small one for leases and finality.
create table message_state (
  message_id bytea primary key, state bigint not null, since bigint not null, final bigint not null, last_event bigint not null,
  queue bigint not null, ready_at bigint not null, fence bigint not null, node bytea not null, valid_until bigint not null
) with (fillfactor = 70);
create index message_due on message_state (queue, ready_at, message_id) where queue > 0;

create table attempt_part (
  message_id bytea not null, attempt bigint not null, part bigint not null,
  connection bigint not null, node bytea not null, outcome bigint not null, delivery bigint not null,
  external_id bytea not null, reference bigint not null, code text not null, code_name text not null,
  opened_at bigint not null, answered_at bigint not null,
  source_sent text not null, destination_sent text not null, receipt_requested bigint not null,
  status_raw text not null, error_code text not null, delivered_at bigint not null,
  primary key (message_id, attempt, part)
) with (fillfactor = 70);

-- Where outcome and receipt meet. kind 0: the provider's message id; kind 1: our own reference.
-- candidates: 20 bytes an attempt's part; waiting: 16 bytes a receipt that came before the id was known.
create table external_id (
  id_space bigint not null, kind bigint not null, id bytea not null,
  candidates bytea not null, waiting bytea not null, held_until bigint not null,
  primary key (id_space, kind, id)
) with (fillfactor = 70);

-- What providers sent, as received; never changed, but for quoted secrets that are masked once they are known.
create table receipt (
  id bytea primary key, seq bigint generated always as identity, connection bigint not null, id_space bigint not null, received_at bigint not null, kind text not null,
  payload bytea not null, headers text not null, peer text not null, bind text not null,
  provider_event_id text not null, external_id bytea not null, reference bigint not null,
  status text not null, state text not null, error_code text not null, source text not null, dest text not null,
  submit_date text not null, done_date text not null, parsed text not null, parser text not null, event_key bytea not null
);
create index receipt_by_time on receipt (received_at, id);

-- Receipts that have had no effect yet.
create table intake (receipt_id bytea primary key, due_at bigint not null, waited bigint not null);
create index intake_due on intake (due_at);

create table event (
  message_id bytea not null, n bigint not null, tenant bigint not null, at bigint not null, kind text not null,
  from_state bigint not null, to_state bigint not null, attempt bigint not null, part bigint not null,
  receipt_id bytea not null, detail text not null, primary key (message_id, n)
);

create index event_by_receipt on event (receipt_id) where length(receipt_id) > 0;

create table outbox (message_id bytea not null, n bigint not null, tenant bigint not null, at bigint not null, primary key (message_id, n));

create table feed_head (tenant bigint primary key, seq bigint not null);

create table feed (tenant bigint not null, seq bigint not null, message_id bytea not null, n bigint not null, at bigint not null, primary key (tenant, seq));

create table exception (
  id bytea primary key, tenant bigint not null, connection bigint not null, kind text not null, hour bigint not null, at bigint not null,
  message_id bytea not null, attempt bigint not null, part bigint not null, receipt_id bytea not null, detail text not null, open bigint not null
);
create index exception_by_time on exception (tenant, at, id);
create index exception_by_message on exception (message_id, at, id);

create table exception_group (
  tenant bigint not null, connection bigint not null, kind text not null, hour bigint not null, count bigint not null,
  primary key (tenant, connection, kind, hour)
);

-- +goose Down
drop table exception_group;
drop table exception;
drop table feed;
drop table feed_head;
drop table outbox;
drop table event;
drop table intake;
drop table receipt;
drop table external_id;
drop table attempt_part;
drop table message_state;
drop table message;
drop table decision;
drop table register;
drop table bind_slot;
drop table own_key;
drop table sealing_key;
drop table api_key;
drop table policy_head;
drop table policy;
drop table flow;
drop table connection;
drop table tenant;
drop table meta;
