package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/store/sqlite"
	"github.com/einmal/einmal/internal/store/storetest"
)

func BenchmarkClaim(b *testing.B) {
	path := filepath.Join(b.TempDir(), "einmal.db")
	s, err := sqlite.Open(context.Background(), sqlite.Options{Path: path})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	storetest.BenchClaim(b, s, func(flows []int64, n int) {
		tx, err := db.Begin()
		if err != nil {
			b.Fatal(err)
		}
		for _, flow := range flows {
			_, err := tx.Exec(fmt.Sprintf(`with recursive n(i) as (select 1 union all select i + 1 from n where i < %d)
				insert into message_state (message_id, state, since, final, last_event, queue, ready_at, fence, node, valid_until)
				select randomblob(16), %d, 0, 0, 1, %d, i, 0, x'', 9000000000000000000 from n`, n, message.Pending, flow))
			if err != nil {
				b.Fatal(err)
			}
		}
		if err := tx.Commit(); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkWallet(b *testing.B) {
	s, err := sqlite.Open(context.Background(), sqlite.Options{Path: filepath.Join(b.TempDir(), "einmal.db")})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	storetest.BenchWallet(b, s)
}
