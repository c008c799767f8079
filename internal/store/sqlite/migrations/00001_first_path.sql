-- +goose Up
create table meta (name text primary key, value text not null);
-- Whose row is locked gives events their numbers: one node at a time.
insert into meta (name, value) values ('sequencer', '');

create table tenant (id integer primary key, name text not null unique);

create table connection (id integer primary key, name text not null unique, id_space integer not null);

create table flow (
  id integer primary key, connection integer not null, lane integer not null, tenant integer not null, sender text not null,
  unique (connection, lane, tenant, sender)
);

create table policy (name text not null, version integer not null, source blob not null, primary key (name, version));

create table policy_head (id integer primary key, name text not null, version integer not null);

create table api_key (
  id text primary key, tenant integer not null, name text not null, hash blob not null, scopes text not null,
  created_at integer not null, revoked_at integer not null
);

create table sealing_key (id integer primary key autoincrement, tenant integer not null, day integer not null, wrapped blob not null, unique (tenant, day));

create table own_key (message_id blob primary key, wrapped blob not null, ends integer not null);

create table bind_slot (
  connection integer not null, n integer not null, node blob not null, fence integer not null, lease_until integer not null,
  primary key (connection, n)
);

-- Who holds a key, and until when. Keys are keyed hashes of 16 bytes; spaces are small numbers.
create table register (
  space integer not null, key blob not null, owner blob not null, ends integer not null, primary key (space, key)
) without rowid;

-- One row a decision; never changed.
create table decision (
  id blob primary key, tenant integer not null, at integer not null,
  action integer not null, class integer not null, reason text not null, rule text not null, policy_id text not null,
  explanation text not null, window_ends integer not null, same_text integer not null, previous_state integer not null,
  message_id blob not null, shown_state integer not null, shown_delivery text not null, shown_attempts integer not null,
  purpose text not null, destination text not null, sender text not null,
  event_type text not null, event_id text not null, event_version text not null,
  template_id text not null, template_version text not null, correlation_id text not null,
  intent_key blob not null, idempotency_key blob not null, text_key blob not null,
  fingerprint_version integer not null, fingerprint blob not null, fingerprint_fields blob not null, caller text not null
);
create index decision_by_time on decision (tenant, at, id);
create index decision_by_message on decision (message_id, at, id);

-- What never changes about a message.
create table message (
  id blob primary key, tenant integer not null, created_at integer not null, decision_id blob not null,
  purpose text not null, kind text not null, policy_id text not null,
  destination text not null, sender text not null,
  event_type text not null, event_id text not null, event_version text not null,
  template_id text not null, template_version text not null, correlation_id text not null,
  connection integer not null, flow integer not null,
  intent_key blob not null, variant_key blob not null, text_key blob not null,
  event_bound integer not null, while_states integer not null,
  content blob not null, metadata blob not null, valid_until integer not null, receipt_until integer not null
);
create index message_by_time on message (tenant, created_at, id);
create index message_by_destination on message (destination, created_at, id);
create index message_by_key on message (intent_key, created_at, id);
create index message_by_event on message (event_id, created_at, id) where event_id <> '';
create index message_by_correlation on message (correlation_id, created_at, id) where correlation_id <> '';

-- What does. The partial index is the queue: a flow's number, or a small one for leases and finality.
create table message_state (
  message_id blob primary key, state integer not null, since integer not null, final integer not null, last_event integer not null,
  queue integer not null, ready_at integer not null, fence integer not null, node blob not null, valid_until integer not null
) without rowid;
create index message_due on message_state (queue, ready_at, message_id) where queue > 0;

create table attempt_part (
  message_id blob not null, attempt integer not null, part integer not null,
  connection integer not null, node blob not null, outcome integer not null, delivery integer not null,
  external_id blob not null, reference integer not null, code text not null, code_name text not null,
  opened_at integer not null, answered_at integer not null,
  source_sent text not null, destination_sent text not null, receipt_requested integer not null,
  status_raw text not null, error_code text not null, delivered_at integer not null,
  primary key (message_id, attempt, part)
) without rowid;

-- Where outcome and receipt meet. kind 0: the provider's message id; kind 1: our own reference.
-- candidates: 20 bytes an attempt's part; waiting: 16 bytes a receipt that came before the id was known.
create table external_id (
  id_space integer not null, kind integer not null, id blob not null,
  candidates blob not null, waiting blob not null, held_until integer not null,
  primary key (id_space, kind, id)
) without rowid;

-- What providers sent, as received; never changed, but for quoted secrets that are masked once they are known.
create table receipt (
  seq integer primary key autoincrement, id blob not null unique, connection integer not null, id_space integer not null, received_at integer not null, kind text not null,
  payload blob not null, headers text not null, peer text not null, bind text not null,
  provider_event_id text not null, external_id blob not null, reference integer not null,
  status text not null, state text not null, error_code text not null, source text not null, dest text not null,
  submit_date text not null, done_date text not null, parsed text not null, parser text not null, event_key blob not null
);
create index receipt_by_time on receipt (received_at, id);

-- Receipts that have had no effect yet.
create table intake (receipt_id blob primary key, due_at integer not null, waited integer not null);
create index intake_due on intake (due_at);

create table event (
  message_id blob not null, n integer not null, tenant integer not null, at integer not null, kind text not null,
  from_state integer not null, to_state integer not null, attempt integer not null, part integer not null,
  receipt_id blob not null, detail text not null, primary key (message_id, n)
) without rowid;

create index event_by_receipt on event (receipt_id) where length(receipt_id) > 0;

create table outbox (message_id blob not null, n integer not null, tenant integer not null, at integer not null, primary key (message_id, n));

create table feed_head (tenant integer primary key, seq integer not null);

create table feed (tenant integer not null, seq integer not null, message_id blob not null, n integer not null, at integer not null, primary key (tenant, seq)) without rowid;

create table exception (
  id blob primary key, tenant integer not null, connection integer not null, kind text not null, hour integer not null, at integer not null,
  message_id blob not null, attempt integer not null, part integer not null, receipt_id blob not null, detail text not null, open integer not null
);
create index exception_by_time on exception (tenant, at, id);
create index exception_by_message on exception (message_id, at, id);

create table exception_group (
  tenant integer not null, connection integer not null, kind text not null, hour integer not null, count integer not null,
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
