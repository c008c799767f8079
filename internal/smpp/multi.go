package smpp

import "errors"

// ErrDestFlag says that a destination of submit_multi is of no known kind, so that its length is not known either.
var ErrDestFlag = errors.New("smpp: dest_flag is neither 1, an address, nor 2, a distribution list")

// Kinds of destinations (section 5.2.25).
const (
	destAddress = 1
	destList    = 2
)

const (
	// maxDests is the largest number_of_dests (section 5.2.24).
	maxDests = 254
	// maxUnsuccessful is what no_unsuccess can count.
	maxUnsuccessful = 255
)

// Recipient is one destination of submit_multi: the distribution list, where it has a name, else the address.
type Recipient struct {
	Address Address
	List    string
}

func (r *Recipient) layout(f *fields) {
	flag := uint8(destAddress)
	if r.List != "" {
		flag = destList
	}
	f.octet(&flag)
	switch {
	case flag == destAddress:
		r.Address.layout(f, "destination_addr", 21)
	case flag != destList:
		f.err = ErrDestFlag
	default:
		f.cstring("dl_name", &r.List, 21)
		if r.List == "" && f.err == nil {
			f.warn("dl_name is empty")
		}
	}
}

// SubmitMulti is the body of submit_multi (section 4.5): one message for several destinations. Dest of the message
// is no part of it.
type SubmitMulti struct {
	Message
	Dests []Recipient
}

func (b *SubmitMulti) layout(f *fields) {
	f.cstring("service_type", &b.ServiceType, 6)
	b.Source.layout(f, "source_addr", 21)
	list(f, "destinations", maxDests, &b.Dests, func(r *Recipient) { r.layout(f) })
	b.content(f)
}

// Unsuccessful is a destination of submit_multi that was refused.
type Unsuccessful struct {
	Address Address
	Status  Status
}

// SubmitMultiResp is the body of submit_multi_resp: what is not listed was taken.
type SubmitMultiResp struct {
	ID           string
	Unsuccessful []Unsuccessful
}

func (b *SubmitMultiResp) layout(f *fields) {
	f.cstring("message_id", &b.ID, 65)
	list(f, "unsuccessful destinations", maxUnsuccessful, &b.Unsuccessful, func(u *Unsuccessful) {
		u.Address.layout(f, "destination_addr", 21)
		f.uint32((*uint32)(&u.Status))
	})
}
