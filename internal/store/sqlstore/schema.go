package sqlstore

import (
	"context"
	"time"

	"github.com/einmal/einmal/internal/ground/fault"
)

var readVersion = define(`select coalesce(max(version_id), 0), coalesce((select cast(value as integer) from meta where name = {1}), 0)
	from goose_db_version`)

// checkSchema looks at the schema, which another node of a newer release may have changed meanwhile. When it has become one
// that this release cannot work on, nothing is written any more: by rows that it does not know, it would decide wrongly. A
// running release has read that this line is there, so a schema without it is an older one, which was put back.
func (s *Store) checkSchema(ctx context.Context) error {
	var have, oldest int64
	if err := s.read().row(ctx, readVersion, nil, scan1(&have, &oldest), minReader); err != nil {
		return fault.Wrap(err, fault.Unavailable, "the store does not answer").After(time.Second)
	}
	if have < s.version {
		return fault.New(fault.Unavailable, "the store's schema is version %d, and this release's is %d: run  einmal migrate", have, s.version)
	}
	err := tooOld(have, oldest, s.version)
	if s.outdated.Swap(err != nil) != (err != nil) && err != nil {
		s.log.Error("the store was taken over by a newer release: this one takes and sends nothing more", "error", err)
	}
	if err != nil {
		return fault.New(fault.Unavailable, "%s", err)
	}
	return nil
}

// errOutdated is what a transaction gets that would write to a schema which this release cannot work on.
func errOutdated() error {
	return fault.New(fault.Unavailable, "the store's schema is a newer release's, and this one cannot work on it: ask another node").After(time.Second)
}
