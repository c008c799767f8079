package sqlstore

import "context"

var (
	readControl  = define(`select version from control where id = 1`)
	raiseControl = define(`update control set version = version + 1 where id = 1`)
)

// ControlVersion implements store.Controls. Every node asks each second, and so looks at the schema too.
func (s *Store) ControlVersion(ctx context.Context) (version int64, err error) {
	if err := s.checkSchema(ctx); err != nil {
		return 0, err
	}
	err = s.read().row(ctx, readControl, nil, scan1(&version))
	return version, unavailable(err)
}

// raiseControl says that something which is administered has changed. It is a singleton: the transaction locks nothing
// after it.
func (t *tx) raiseControl(ctx context.Context) error {
	_, err := t.exec(ctx, raiseControl, nil)
	return err
}
