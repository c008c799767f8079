package api

import (
	"context"
	"net/http"

	"github.com/einmal/einmal/internal/edge/api/handset"
	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/provider"
)

// The handsets behind the simulated carrier belong to the installation, as receipts do that match nothing: a number
// may have messages of any tenant, and so only keys of the installation's own tenant see them.

type handsetIn struct {
	Number string `path:"number" doc:"The handset's number, in E.164 or in the local form of region."`
	Region string `query:"region" doc:"ISO 3166-1, two letters."`
	After  int64  `query:"after" minimum:"0" doc:"Only what came after the message with this n."`
	Wait   string `query:"wait" doc:"How long to wait for the first message after it, such as 25s; 60s at most."`
}

func (a *API) getHandset(ctx context.Context, in *handsetIn) (handset.Messages, error) {
	phones, err := a.phones(ctx)
	if err != nil {
		return handset.Messages{}, err
	}
	d := &decoder{}
	wait := d.wait("wait", in.Wait)
	if err := d.fault(); err != nil {
		return handset.Messages{}, err
	}
	number, err := handset.Number(in.Number, in.Region)
	if err != nil {
		return handset.Messages{}, err
	}
	if wait > 0 {
		waiting, done, err := a.waiting.begin(ctx, wait)
		if err != nil {
			return handset.Messages{}, err
		}
		defer done()
		ctx = waiting
	}
	return handset.Read(ctx, phones, number, in.After, wait), nil
}

// errNoPhones answers where there is nothing to see, for whatever reason.
var errNoPhones = fault.New(fault.NotFound, "there are no simulated handsets here: no connection is a simulator, or the key belongs to another tenant than the installation's own")

func (a *API) phones(ctx context.Context) (provider.Phones, error) {
	phones := a.cfg.Phones()
	if phones == nil || principalOf(ctx).Tenant != a.cfg.Installation {
		return nil, errNoPhones
	}
	return phones, nil
}

type replyIn struct {
	Number      string `path:"number"`
	Region      string `query:"region" doc:"ISO 3166-1, two letters."`
	ContentType string `header:"Content-Type" hidden:"true"`
	RawBody     []byte
}

type replyBody struct {
	Text string `json:"text" doc:"What the handset sends."`
	To   string `json:"to,omitempty" doc:"The number or short code that it goes to; without one, the sender of the newest message."`
}

// stored is what the gateway does with a message from a handset.
const stored = "The gateway has stored it, sealed, as an inbound message (kind inbound in /v1/receipts). This release does nothing more with it: keywords, replies and webhooks come later."

func (a *API) replyFromHandset(ctx context.Context, in *replyIn) (handset.Reply, error) {
	phones, err := a.phones(ctx)
	if err != nil {
		return handset.Reply{}, err
	}
	number, err := handset.Number(in.Number, in.Region)
	if err != nil {
		return handset.Reply{}, err
	}
	text, to, err := readReply(in.ContentType, in.RawBody)
	if err != nil {
		return handset.Reply{}, err
	}
	return handset.Answer(ctx, phones, number, to, text, stored)
}

func readReply(contentType string, body []byte) (text, to string, err error) {
	const right = "write what the handset sends"
	err = decodeSmall(contentType, body, func(d *decoder) members {
		return members{{"text", d.required(&text, right)}, {"to", d.text(&to)}}
	}, needed{"text", right})
	return text, to, err
}

// handsetPage is the page of a handset. It asks for no key itself: see handset.Page.
func (a *API) handsetPage(w http.ResponseWriter, r *http.Request) {
	if a.cfg.Phones() == nil {
		writeProblem(w, errNoPhones)
		return
	}
	writePage(w, r, true)
}

func writePage(w http.ResponseWriter, r *http.Request, needsKey bool) {
	number, err := handset.Number(r.PathValue("number"), r.URL.Query().Get("region"))
	if err != nil {
		writeProblem(w, err)
		return
	}
	_ = handset.Page(w, number, needsKey) // the client may be gone
}
