package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// connections is how many clients send at the same time.
const connections = 64

// load is a client of a gateway, or of what it is compared with.
type load struct {
	url, key string
	client   *http.Client
}

func newLoad(url, key string) *load {
	return &load{url: url, key: key, client: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: connections, MaxConnsPerHost: connections, DisableCompression: true},
		Timeout:   time.Minute,
	}}
}

// Close ends the connections.
func (l *load) Close() { l.client.CloseIdleConnections() }

// post sends one body and wants an answer of that status.
func (l *load) post(ctx context.Context, body []byte, want int) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url+"/v1/messages", bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+l.key)
	r.Header.Set("Content-Type", "application/json")
	res, err := l.client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }() // it was read to its end
	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != want {
		err = fmt.Errorf("status %d instead of %d: %.300s", res.StatusCode, want, answer)
	}
	return err
}

// ask calls the gateway, wants a success, and reads the answer where one is given.
func (l *load) ask(ctx context.Context, method, path, body string, answer any) (err error) {
	r, err := http.NewRequestWithContext(ctx, method, l.url+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+l.key)
	r.Header.Set("Content-Type", "application/json")
	res, err := l.client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }() // it was read to its end
	text, err := io.ReadAll(res.Body)
	switch {
	case err == nil && res.StatusCode/100 != 2:
		err = fmt.Errorf("%s %s: status %d: %.300s", method, path, res.StatusCode, text)
	case err == nil && answer != nil:
		err = json.Unmarshal(text, answer)
	}
	return err
}

// orderBody is order number n as JSON.
func orderBody(n int) []byte {
	return fmt.Appendf(nil, `{"to":%q,"purpose":"order_confirmation","event":{"type":"order","id":%q,"version":"1"},"sender":"SHOP",`+
		`"template":{"id":"order_confirmed","version":"3"},"text":%q,"correlation_id":%q}`,
		destination(n), orderID(n), orderText(n), correlation(n))
}

// metric reads one of a gateway's metrics; a counter that has not counted yet is 0.
func (l *load) metric(ctx context.Context, name string) (float64, error) {
	text, err := l.get(ctx, l.url+"/metrics")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, nil
}

// get reads what is there; anything but a success is an error.
func (l *load) get(ctx context.Context, url string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer "+l.key)
	res, err := l.client.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }() // it was read to its end
	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode/100 != 2 {
		err = fmt.Errorf("status %d: %.300s", res.StatusCode, answer)
	}
	return string(answer), err
}
