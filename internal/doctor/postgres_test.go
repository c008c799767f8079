//go:build services

package doctor_test

import (
	"testing"
	"time"

	"github.com/einmal/einmal/internal/doctor"
	"github.com/einmal/einmal/internal/store/storetest"
)

// A server is looked at before and after a gateway has been there, with its clock.
//
// covers: X7
func TestOnPostgreSQL(t *testing.T) {
	p := newPatient(t)
	p.o.Sources.Flags.Store = storetest.PostgresDatabase(t).String()
	all := p.examine()
	expect(t, all, "store", doctor.OK, "PostgreSQL")
	expect(t, all, "schema", doctor.Warn, "the schema is version 0")
	stop := p.start()
	defer stop()
	all = p.examine()
	for _, f := range all {
		if f.Level == doctor.Fail {
			t.Errorf("%+v", f)
		}
	}
	expect(t, all, "schema", doctor.OK, "version")
	expect(t, all, "keys", doctor.OK, "the identity key is the store's")
	expect(t, all, "clock", doctor.OK, "apart")
	p.o.Now = func() time.Time { return time.Now().Add(10 * time.Minute) }
	expect(t, p.examine(), "clock", doctor.Warn, "10m")
}
