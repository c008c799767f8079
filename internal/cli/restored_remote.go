package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/einmal/einmal/internal/edge/api"
)

// remoteStore is the store of a running gateway.
type remoteStore struct{ gateway *client }

// Survey asks the gateway.
func (r *remoteStore) Survey(ctx context.Context, asOf time.Time) (v api.RestoredView, err error) {
	path := "/v1/restored"
	if !asOf.IsZero() {
		path += "?as_of=" + url.QueryEscape(asOf.UTC().Format(time.RFC3339Nano))
	}
	_, err = r.gateway.get(ctx, path, &v)
	return v, err
}

// Release asks for it.
func (r *remoteStore) Release(ctx context.Context, b api.ReleaseBody) error {
	body, err := json.Marshal(b)
	if err != nil {
		return err
	}
	if _, err := r.gateway.do(ctx, http.MethodPost, "/v1/restored", body, nil); err != nil {
		return unlost(err, "einmal restored   (shows whether traffic still waits)")
	}
	return nil
}

// It is asked how far a release is: soon at first, and then once a second.
const (
	releaseSoon   = 100 * time.Millisecond
	releaseSeldom = time.Second
)

// Await asks until traffic goes on.
func (r *remoteStore) Await(ctx context.Context, progress func(*api.RestoredView)) error {
	begun := time.Now()
	for rest := releaseSoon; ; rest = min(2*rest, releaseSeldom) {
		v, err := r.Survey(ctx, time.Time{})
		if err != nil || !v.Held {
			return err
		}
		if time.Since(begun) >= time.Second {
			progress(&v)
		}
		select {
		case <-time.After(rest):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Close has nothing to give up.
func (r *remoteStore) Close() error { return nil }
