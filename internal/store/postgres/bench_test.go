//go:build services

package postgres_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/store/postgres"
	"github.com/einmal/einmal/internal/store/storetest"
)

func BenchmarkClaim(b *testing.B) {
	url := storetest.PostgresDatabase(b).String()
	s, err := postgres.Open(context.Background(), postgres.Options{URL: url})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	db, err := sql.Open("pgx", url)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	storetest.BenchClaim(b, s, func(flows []int64, n int) {
		for _, flow := range flows {
			_, err := db.Exec(fmt.Sprintf(`insert into message_state (message_id, state, since, final, last_event, queue, ready_at, fence, node, valid_until)
				select decode(md5(random()::text || i || %[3]d), 'hex'), %[2]d, 0, 0, 1, %[3]d, i, 0, '', 9000000000000000000 from generate_series(1, %[1]d) i`, n, message.Pending, flow))
			if err != nil {
				b.Fatal(err)
			}
		}
		if _, err := db.Exec("analyze message_state"); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkWallet(b *testing.B) {
	s, err := postgres.Open(context.Background(), postgres.Options{URL: storetest.PostgresDatabase(b).String()})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	storetest.BenchWallet(b, s)
}
