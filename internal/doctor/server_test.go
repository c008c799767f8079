package doctor

import (
	"testing"
	"time"

	"github.com/einmal/einmal/internal/store/sqlstore"
)

// What a server may say of itself that is not well.
func TestServersThatAreNotWell(t *testing.T) {
	on := map[string]string{"fsync": "on", "full_page_writes": "on"}
	now := time.Now()
	for name, c := range map[string]struct {
		seen  sqlstore.Inspection
		check string
		level Level
	}{
		"good":          {sqlstore.Inspection{Settings: on, Clock: now}, "store", OK},
		"no fsync":      {sqlstore.Inspection{Settings: map[string]string{"fsync": "off", "full_page_writes": "on"}, Clock: now}, "store", Fail},
		"half pages":    {sqlstore.Inspection{Settings: map[string]string{"fsync": "on", "full_page_writes": "off"}, Clock: now}, "store", Fail},
		"standby":       {sqlstore.Inspection{Settings: on, Standby: true, Clock: now}, "store", Fail},
		"lags":          {sqlstore.Inspection{Settings: on, Standbys: 1, Behind: 64 << 20, Clock: now}, "replication", Warn},
		"keeps up":      {sqlstore.Inspection{Settings: on, Standbys: 1, Behind: 64, Clock: now}, "replication", OK},
		"another clock": {sqlstore.Inspection{Settings: on, Clock: now.Add(-10 * time.Minute)}, "clock", Warn},
		"same clock":    {sqlstore.Inspection{Settings: on, Clock: now.Add(-10 * time.Millisecond)}, "clock", OK},
	} {
		e := &examination{Options: Options{Now: func() time.Time { return now }}, store: &c.seen}
		e.judgeServer()
		e.clock(t.Context())
		found := false
		for _, f := range e.found {
			found = found || f.Check == c.check && f.Level == c.level
		}
		if !found {
			t.Errorf("%s: %+v", name, e.found)
		}
	}
}
