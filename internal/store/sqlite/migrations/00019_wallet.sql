-- +goose Up
-- What the rules beside deduplication said of a request: a JSON array of [rule, kind, result]; '' for none.
alter table decision add column guards text not null default '';

-- What a part costs, in millionths of a US dollar; 0: nothing is paid for the message.
alter table message add column price integer not null default 0;

-- A prepaid tenant's money. The checks are the referee: neither is ever crossed at any commit.
create table wallet (
  tenant integer not null, slice integer not null, balance integer not null, held integer not null, spent integer not null, floor integer not null,
  exposure_limit integer not null, lifted_by text not null, lifted_reason text not null, lifted_at integer not null, created_at integer not null,
  primary key (tenant, slice),
  constraint wallet_floor check (balance - held >= floor),
  constraint wallet_limit check (exposure_limit < 0 or spent + held <= exposure_limit),
  constraint wallet_held check (held >= 0 and spent >= 0)
);

-- id: of a charge (kind 1) its message's, with attempt and part; else the transfer's own, with 0 and 0.
-- Accounts: 1 tenant, 2 revenue, 3 deposits, 4 house. state: 1 held, 2 settled, 3 released.
create table transfer (
  id blob not null, attempt integer not null, part integer not null, kind integer not null, tenant integer not null, slice integer not null,
  debit integer not null, credit integer not null check (credit <> debit), amount integer not null check (amount > 0),
  state integer not null, at integer not null, settled_at integer not null,
  reference text not null default '', person text not null default '', reason text not null default '',
  primary key (id, attempt, part)
);
-- Of payments alone, which are never updated. Charges are found by their messages.
create unique index transfer_by_reference on transfer (tenant, reference) where kind > 1;
create index transfer_by_time on transfer (tenant, at, id) where kind > 1;

-- tenant 0: of everybody without a price of their own.
create table price (
  tenant integer not null, prefix text not null, micro_usd integer not null check (micro_usd >= 0), from_at integer not null,
  primary key (tenant, prefix, from_at)
);

-- +goose Down
drop table price;
drop table transfer;
drop table wallet;
alter table message drop column price;
alter table decision drop column guards;
