-- +goose Up
-- What the rules beside deduplication said of a request: a JSON array of [rule, kind, result]; '' for none.
alter table decision add column guards text not null default '';

-- What a part costs, in millionths of a US dollar; 0: nothing is paid for the message.
alter table message add column price bigint not null default 0;

-- A prepaid tenant's money. The checks are the referee: neither is ever crossed at any commit.
create table wallet (
  tenant bigint not null, slice bigint not null, balance bigint not null, held bigint not null, spent bigint not null, floor bigint not null,
  exposure_limit bigint not null, lifted_by text not null, lifted_reason text not null, lifted_at bigint not null, created_at bigint not null,
  primary key (tenant, slice),
  constraint wallet_floor check (balance - held >= floor),
  constraint wallet_limit check (exposure_limit < 0 or spent + held <= exposure_limit),
  constraint wallet_held check (held >= 0 and spent >= 0)
) with (fillfactor = 10);

-- id: of a charge (kind 1) its message's, with attempt and part; else the transfer's own, with 0 and 0.
-- Accounts: 1 tenant, 2 revenue, 3 deposits, 4 house. state: 1 held, 2 settled, 3 released.
create table transfer (
  id bytea not null, attempt bigint not null, part bigint not null, kind bigint not null, tenant bigint not null, slice bigint not null,
  debit bigint not null, credit bigint not null check (credit <> debit), amount bigint not null check (amount > 0),
  state bigint not null, at bigint not null, settled_at bigint not null,
  reference text not null default '', person text not null default '', reason text not null default '',
  primary key (id, attempt, part)
) with (fillfactor = 80);
-- Of payments alone, which are never updated. Charges are found by their messages.
create unique index transfer_by_reference on transfer (tenant, reference) where kind > 1;
create index transfer_by_time on transfer (tenant, at, id) where kind > 1;

-- tenant 0: of everybody without a price of their own.
create table price (
  tenant bigint not null, prefix text not null, micro_usd bigint not null check (micro_usd >= 0), from_at bigint not null,
  primary key (tenant, prefix, from_at)
);

-- +goose Down
drop table price;
drop table transfer;
drop table wallet;
alter table message drop column price;
alter table decision drop column guards;
