package api

import (
	"encoding/hex"
	"strings"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/domain/phone"
	"github.com/einmal/einmal/internal/store"
)

// EventView is the business event of a request.
type EventView struct {
	Type    string `json:"type,omitempty"`
	ID      string `json:"id,omitempty"`
	Version string `json:"version,omitempty"`
}

// TemplateView is the template of a request.
type TemplateView struct {
	ID      string `json:"id,omitempty"`
	Version string `json:"version,omitempty"`
}

func eventView(e intent.Event) *EventView {
	if e == (intent.Event{}) {
		return nil
	}
	v := EventView(e)
	return &v
}

func templateView(t intent.Template) *TemplateView {
	if t == (intent.Template{}) {
		return nil
	}
	v := TemplateView(t)
	return &v
}

// AttemptView is one part of one attempt.
type AttemptView struct {
	Attempt      int     `json:"attempt" doc:"Counts from 1."`
	Part         int     `json:"part" doc:"Counts from 1."`
	Connection   string  `json:"connection"`
	Node         *string `json:"node" doc:"The process that made it, which has one bind of the connection; null: not known, after a restore."`
	Outcome      string  `json:"outcome" doc:"What is known of the submission: open, accepted, rejected, throttled, not_sent or unknown. Accept unknown values."`
	Code         string  `json:"code,omitempty" doc:"The provider's raw answer."`
	CodeName     string  `json:"code_name,omitempty"`
	Reference    *int32  `json:"reference" doc:"Our own reference, as handed to the provider (SMPP user_message_reference); null: none."`
	ExternalID   *string `json:"external_id" doc:"The provider's message id as received; one that is no printable ASCII as 0x and hexadecimal digits."`
	SourceSent   string  `json:"source_sent,omitempty" doc:"The sender's address as sent; on SMPP with TON and NPI in front, such as 5/0 SHOP."`
	DestSent     string  `json:"destination_sent,omitempty" doc:"The destination's address as sent, such as 1/1 1202•••0143. It is masked where to is."`
	OpenedAt     string  `json:"opened_at" format:"date-time" doc:"When it was stored, before its first byte left."`
	AnsweredAt   *string `json:"answered_at" format:"date-time"`
	ReceiptAsked bool    `json:"receipt_asked" doc:"Whether a delivery receipt was asked for with it."`
	Delivery     *string `json:"reported_delivery" doc:"What receipts report of this part; never a proof that somebody read it."`
	Means        string  `json:"delivered_means,omitempty" doc:"What stands behind delivered on this connection, where that is declared: handset or network. Accept unknown values."`
	Status       string  `json:"status,omitempty" doc:"The receipt's raw status."`
	ErrorCode    string  `json:"error_code,omitempty" doc:"The receipt's raw error code; its meaning is the provider's."`
	ReportedAt   *string `json:"reported_at" format:"date-time" doc:"When that receipt was received."`
}

// MessageView is a message.
type MessageView struct {
	ID      string       `json:"id"`
	State   string       `json:"state" doc:"See docs/states.md. Accept unknown values."`
	Since   string       `json:"since" format:"date-time" doc:"When it took that state."`
	Final   bool         `json:"final" doc:"Nothing more is owed: no attempt, no receipt."`
	Stopped *StoppedView `json:"stopped" doc:"The emergency stop that holds it while it is pending; null: none does."`
	Parts
	ReportedDelivery *string           `json:"reported_delivery" doc:"What receipts report of the message as a whole; null: nothing, or nothing that holds for all of it."`
	Verified         *bool             `json:"verified" doc:"Independent proof, such as a completed verification; null: there is none."`
	Attempts         []AttemptView     `json:"attempts" nullable:"false"`
	Purpose          string            `json:"purpose"`
	To               string            `json:"to" doc:"The destination, masked. It is shown whole to whoever searched for exactly this number."`
	Event            *EventView        `json:"event,omitempty"`
	Sender           string            `json:"sender"`
	Template         *TemplateView     `json:"template,omitempty"`
	CorrelationID    string            `json:"correlation_id,omitempty"`
	Metadata         map[string]string `json:"metadata,omitempty"`
	Channel          string            `json:"channel" doc:"sms. Accept unknown values."`
	CreatedAt        string            `json:"created_at" format:"date-time"`
	ValidUntil       string            `json:"valid_until" format:"date-time" doc:"After it the message is not sent any more."`
	Simulated        bool              `json:"simulated"`
	Decision         string            `json:"decision" doc:"The decision that made it."`
	PolicyVersion    string            `json:"policy_version"`
	Connection       string            `json:"connection" doc:"Over which it was to be sent when it was decided. An attempt names its own."`
	DeduplicationKey string            `json:"deduplication_key" doc:"A keyed hash of the intent, in hexadecimal."`
	Cost             *CostView         `json:"cost,omitempty" doc:"What a prepaid tenant pays for it."`
}

// messageView shows a message. names are the connections', shown is the number that may be seen whole.
func (a *API) messageView(m *store.Message, names map[int64]string, metadata map[string]string, shown string) MessageView {
	v := MessageView{
		ID: m.ID.String(), State: m.State.String(), Since: at(m.Since), Final: m.Final, Parts: partsOf(m),
		ReportedDelivery: orNull(m.Delivery()), Attempts: make([]AttemptView, 0, len(m.Attempts)),
		Purpose: m.Purpose, To: masked(m.Destination, shown), Event: eventView(m.Event), Sender: m.Sender,
		Template: templateView(m.Template), CorrelationID: m.CorrelationID, Metadata: metadata, Channel: "sms",
		CreatedAt: at(m.CreatedAt), ValidUntil: at(m.ValidUntil), Simulated: a.cfg.Simulated(m.Connection),
		Decision: m.Decision.String(), PolicyVersion: m.PolicyID, Connection: names[m.Connection], DeduplicationKey: hex.EncodeToString(m.IntentKey[:]),
	}
	if m.Price > 0 {
		v.Cost = costView(m.Cost)
	}
	for i := range m.Attempts {
		v.Attempts = append(v.Attempts, attemptView(&m.Attempts[i], names, shown))
		if t := &m.Attempts[i]; t.Delivery == message.DeliveryDelivered {
			v.Attempts[i].Means = a.cfg.DeliveredMeans(t.Connection)
		}
	}
	return v
}

func attemptView(t *store.Attempt, names map[int64]string, shown string) AttemptView {
	v := AttemptView{
		Attempt: int(t.Attempt.Attempt), Part: int(t.Part), Connection: names[t.Connection], Node: orNull(t.Node.String()),
		Outcome: t.Outcome.String(), Code: t.Code, CodeName: t.CodeName, ExternalID: externalID(t.ExternalID),
		SourceSent: t.SourceSent, DestSent: maskedAddress(t.DestinationSent, shown),
		OpenedAt: at(t.OpenedAt), AnsweredAt: stamp(t.AnsweredAt), ReceiptAsked: t.Receipt,
		Status: t.StatusRaw, ErrorCode: t.ErrorCode, ReportedAt: stamp(t.DeliveredAt),
	}
	if t.Reference >= 0 {
		v.Reference = &t.Reference
	}
	if t.DeliveredAt != 0 {
		v.Delivery = orNull(t.Delivery.String())
	}
	return v
}

// externalID shows an id as received, nil for none.
func externalID(id []byte) *string {
	if len(id) == 0 {
		return nil
	}
	s := string(id)
	if !printable(s) || strings.HasPrefix(s, "0x") {
		s = "0x" + hex.EncodeToString(id)
	}
	return &s
}

// receivedID reads what externalID wrote.
func receivedID(s string) string {
	digits, ok := strings.CutPrefix(s, "0x")
	if raw, err := hex.DecodeString(digits); ok && err == nil {
		return string(raw)
	}
	return s
}

// maskedAddress hides the middle of a destination as sent, behind its TON and NPI where they are there. What is
// not the digits of a number is hidden whole.
func maskedAddress(sent, shown string) string {
	if sent == "" {
		return ""
	}
	begins := strings.LastIndexByte(sent, ' ') + 1
	digits, plus := strings.CutPrefix(sent[begins:], "+")
	seen := masked("+"+digits, shown)
	if !plus {
		seen = strings.TrimPrefix(seen, "+")
	}
	return sent[:begins] + seen
}

// maskedWritten hides the middle of a number in its caller's spelling.
func maskedWritten(e164, raw string) string {
	if raw == "" {
		return ""
	}
	n, err := phone.Parse(e164, "")
	if err != nil {
		return "•••"
	}
	return n.MaskWritten(raw)
}

// masked hides the middle of a number, unless it is the one that may be seen.
func masked(e164, shown string) string {
	if e164 == shown {
		return e164
	}
	n, err := phone.Parse(e164, "")
	if err != nil {
		return "•••"
	}
	return n.Mask()
}
