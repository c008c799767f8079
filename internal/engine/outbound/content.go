package outbound

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/ground/secret"
	"github.com/einmal/einmal/internal/store"
)

// Content is what of a message is sealed: the destination as it was received, and the text, with where in it the
// parts of a long one end, but for the last. They are kept, so that no later release cuts it in another way when some
// parts have left.
type Content struct {
	ToRaw string `json:"to_raw"`
	Text  string `json:"text"`
	Ends  []int  `json:"ends,omitempty"`
}

// Part is the text of a part, from 1 on.
func (c Content) Part(number int) (string, error) {
	ends := append(slices.Clone(c.Ends), len(c.Text))
	if number < 1 || number > len(ends) {
		return "", fmt.Errorf("sealed content has no part %d", number)
	}
	begin, end := 0, ends[number-1]
	if number > 1 {
		begin = ends[number-2]
	}
	if begin < 0 || begin > end || end > len(c.Text) {
		return "", fmt.Errorf("sealed content has parts that are not in its text")
	}
	return c.Text[begin:end], nil
}

// Encode writes the form that is sealed.
func (c Content) Encode() []byte {
	b, _ := json.Marshal(c) // two strings: it cannot fail
	return b
}

// DecodeContent reads what Encode wrote. Its error has nothing of the content.
func DecodeContent(b []byte) (Content, error) {
	var c Content
	if json.Unmarshal(b, &c) != nil {
		return Content{}, fmt.Errorf("sealed content has an unknown form")
	}
	return c, nil
}

// What a message's sealed values are bound to, beside its id. Stored content depends on these: they never change.
const (
	placeContent  = "message content"
	placeMetadata = "message metadata"
)

// Contents seals and opens what messages say. Safe for concurrent use.
type Contents struct{ sealer *secret.Sealer }

// NewContents returns it over a sealer.
func NewContents(s *secret.Sealer) *Contents { return &Contents{s} }

// Open returns the text of an attempt that is about to be sent: of a long message the part's own.
func (c *Contents) Open(ctx context.Context, o store.Opened) (text string, err error) {
	got, err := c.Content(ctx, o.Message, o.Content, o.OwnKey)
	if err != nil {
		return "", err
	}
	return got.Part(int(o.Part))
}

// Content opens a message's sealed content. own is its wrapped own key, nil for one that has none.
func (c *Contents) Content(ctx context.Context, id ident.Message, sealed, own []byte) (Content, error) {
	plain, err := c.sealer.Open(ctx, secret.Place(placeContent, id), sealed, own)
	if err != nil {
		return Content{}, fmt.Errorf("open the content of %s: %w", id, err)
	}
	return DecodeContent(plain)
}

// Metadata opens a message's metadata; nil if it has none. own is as for Content.
func (c *Contents) Metadata(ctx context.Context, id ident.Message, sealed, own []byte) (map[string]string, error) {
	if sealed == nil {
		return nil, nil
	}
	plain, err := c.sealer.Open(ctx, secret.Place(placeMetadata, id), sealed, own)
	if err != nil {
		return nil, fmt.Errorf("open the metadata of %s: %w", id, err)
	}
	var metadata map[string]string
	if json.Unmarshal(plain, &metadata) != nil {
		return nil, fmt.Errorf("the metadata of %s has an unknown form", id)
	}
	return metadata, nil
}

// seal fills in what is stored of a message's content and metadata.
func (c *Contents) seal(ctx context.Context, s *store.Submission, at time.Time, content Content, metadata []byte) (err error) {
	s.Content, err = c.sealer.Seal(ctx, s.Tenant, at, secret.Place(placeContent, s.Message), content.Encode())
	if err == nil && metadata != nil {
		s.Metadata, err = c.sealer.Seal(ctx, s.Tenant, at, secret.Place(placeMetadata, s.Message), metadata)
	}
	return err
}

// sealOwn does so under a key of the message's own, which is kept for life: whatever may quote a code, metadata
// included, ends with it (D15).
func (c *Contents) sealOwn(s *store.Submission, content Content, metadata []byte, life time.Duration) {
	key, wrapped := c.sealer.NewOwnKey()
	s.OwnKey, s.OwnKeyFor = wrapped, life
	s.Content = key.Seal(secret.Place(placeContent, s.Message), content.Encode())
	if metadata != nil {
		s.Metadata = key.Seal(secret.Place(placeMetadata, s.Message), metadata)
	}
}
