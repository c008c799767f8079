package policy

import "time"

// UnnamedPurpose is the name of the purpose of requests that name none. No file can define it.
const UnnamedPurpose = "unnamed"

// UnnamedWindow is how far apart two equal requests without a purpose may be to be called a repeat (D18).
const UnnamedWindow = 2 * time.Minute

// KeyText makes the text part of a key. It is for requests that name no purpose alone: beside it stand tenant,
// purpose, destination and whatever else the request has, since nothing else tells two of them apart.
const KeyText KeyPart = "text"

// Unnamed is the purpose of requests that name none (D18). What such a request is about cannot be known, so it is
// only monitored: a second one may be a repeat, or be meant. ok is false where the policy refuses them.
func (p *Policy) Unnamed() (purpose Purpose, ok bool) {
	return Purpose{
		Name: UnnamedPurpose, Kind: KindService, Key: unnamedKey, Window: Window{Duration: UnnamedWindow},
		OnOtherText: OtherTextSuppress, Mode: Monitor, Unnamed: true,
	}, !p.RefuseUnnamed
}

// unnamedKey is all that a request without a purpose can have.
var unnamedKey = []KeyPart{
	KeyEventType, KeyEventID, KeyEventVersion, KeySender, KeyTemplateID, KeyTemplateVersion, KeyCorrelationID, KeyText,
}
