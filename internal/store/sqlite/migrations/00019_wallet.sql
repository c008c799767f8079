-- +goose Up
-- What the rules beside deduplication said of a request: a JSON array of [rule, kind, result]; '' for none.
alter table decision add column guards text not null default '';

-- +goose Down
alter table decision drop column guards;
