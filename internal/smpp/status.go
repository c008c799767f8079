package smpp

import "fmt"

// Status is a command_status (section 5.1.3).
type Status uint32

// Class says what a status means to a submission.
type Class int

// The classes.
const (
	ClassOK        Class = iota + 1 // taken
	ClassThrottle                   // not taken: slow down, then send again
	ClassTemporary                  // not taken: try later
	ClassPermanent                  // not taken: do not repeat unchanged
	ClassConfig                     // not taken: the account or the code is wrong, others would fare no better
	ClassBind                       // the session is not bound as it must be
	ClassUnsure                     // whether it was taken is not sure, or differs by operator
	ClassUnlisted                   // a reserved code: nobody documents what it proves
)

// The statuses that this project sends or tells apart by name.
const (
	StatusOK            Status = 0x00
	StatusInvCmdLen     Status = 0x02
	StatusInvCmdID      Status = 0x03
	StatusInvBindStatus Status = 0x04
	StatusAlreadyBound  Status = 0x05
	StatusSysErr        Status = 0x08
	StatusInvDestAddr   Status = 0x0B
	StatusInvMsgID      Status = 0x0C
	StatusInvPassword   Status = 0x0E
	StatusInvSystemID   Status = 0x0F
	StatusMsgQueueFull  Status = 0x14
	StatusInvSysType    Status = 0x53
	StatusThrottled     Status = 0x58
	StatusInvSchedule   Status = 0x61
	StatusInvExpiry     Status = 0x62
	StatusTempAppErr    Status = 0x64
	StatusInvOptParams  Status = 0xC0
	StatusUnknownErr    Status = 0xFF
)

type statusRow struct {
	name  string
	text  string
	class Class
}

// statuses is table 5-2 with a class for each code, and from 0x100 on what SMPP 5.0 adds. 0x08 and 0xFF are unsure:
// some message centres answer so after they took the message.
var statuses = map[Status]statusRow{
	0x00:  {"ESME_ROK", "no error", ClassOK},
	0x01:  {"ESME_RINVMSGLEN", "message length", ClassPermanent},
	0x02:  {"ESME_RINVCMDLEN", "command length", ClassConfig},
	0x03:  {"ESME_RINVCMDID", "command id unknown", ClassConfig},
	0x04:  {"ESME_RINVBNDSTS", "not allowed in this bind state", ClassBind}, // rebind
	0x05:  {"ESME_RALYBND", "already bound", ClassBind},                     // wait, the old session may live on
	0x06:  {"ESME_RINVPRTFLG", "priority flag", ClassPermanent},
	0x07:  {"ESME_RINVREGDLVFLG", "registered_delivery", ClassPermanent},
	0x08:  {"ESME_RSYSERR", "system error", ClassUnsure},
	0x0A:  {"ESME_RINVSRCADR", "source address", ClassPermanent},
	0x0B:  {"ESME_RINVDSTADR", "destination address", ClassPermanent},
	0x0C:  {"ESME_RINVMSGID", "message id", ClassPermanent},
	0x0D:  {"ESME_RBINDFAIL", "bind failed", ClassBind}, // back off
	0x0E:  {"ESME_RINVPASWD", "password", ClassBind},    // back off long
	0x0F:  {"ESME_RINVSYSID", "system id", ClassBind},   // back off long
	0x11:  {"ESME_RCANCELFAIL", "cancel failed", ClassPermanent},
	0x13:  {"ESME_RREPLACEFAIL", "replace failed", ClassPermanent},
	0x14:  {"ESME_RMSGQFUL", "message queue full", ClassThrottle},
	0x15:  {"ESME_RINVSERTYP", "service type", ClassConfig},
	0x33:  {"ESME_RINVNUMDESTS", "number of destinations", ClassPermanent},
	0x34:  {"ESME_RINVDLNAME", "distribution list", ClassPermanent},
	0x40:  {"ESME_RINVDESTFLAG", "dest flag", ClassPermanent},
	0x42:  {"ESME_RINVSUBREP", "submit with replace", ClassPermanent},
	0x43:  {"ESME_RINVESMCLASS", "esm_class", ClassPermanent},
	0x44:  {"ESME_RCNTSUBDL", "cannot submit to list", ClassPermanent},
	0x45:  {"ESME_RSUBMITFAIL", "submit failed", ClassPermanent},
	0x48:  {"ESME_RINVSRCTON", "source TON", ClassConfig},
	0x49:  {"ESME_RINVSRCNPI", "source NPI", ClassConfig},
	0x50:  {"ESME_RINVDSTTON", "destination TON", ClassConfig},
	0x51:  {"ESME_RINVDSTNPI", "destination NPI", ClassConfig},
	0x53:  {"ESME_RINVSYSTYP", "system_type", ClassBind}, // back off long
	0x54:  {"ESME_RINVREPFLAG", "replace_if_present", ClassPermanent},
	0x55:  {"ESME_RINVNUMMSGS", "number of messages", ClassPermanent},
	0x58:  {"ESME_RTHROTTLED", "over the allowed rate", ClassThrottle},
	0x61:  {"ESME_RINVSCHED", "schedule time", ClassPermanent},
	0x62:  {"ESME_RINVEXPIRY", "validity", ClassPermanent},
	0x63:  {"ESME_RINVDFTMSGID", "predefined message", ClassPermanent},
	0x64:  {"ESME_RX_T_APPN", "receiver temporary error", ClassTemporary}, // also what an ESME answers to get a deliver_sm again
	0x65:  {"ESME_RX_P_APPN", "receiver permanent error", ClassPermanent},
	0x66:  {"ESME_RX_R_APPN", "receiver reject", ClassPermanent},
	0x67:  {"ESME_RQUERYFAIL", "query failed", ClassTemporary},
	0xC0:  {"ESME_RINVOPTPARSTREAM", "TLV part broken", ClassConfig},
	0xC1:  {"ESME_ROPTPARNOTALLWD", "TLV not allowed", ClassConfig},
	0xC2:  {"ESME_RINVPARLEN", "parameter length", ClassConfig},
	0xC3:  {"ESME_RMISSINGOPTPARAM", "TLV missing", ClassConfig},
	0xC4:  {"ESME_RINVOPTPARAMVAL", "TLV value", ClassConfig},
	0xFE:  {"ESME_RDELIVERYFAILURE", "delivery failure (data_sm_resp)", ClassPermanent},
	0xFF:  {"ESME_RUNKNOWNERR", "unknown", ClassUnsure},
	0x100: {"ESME_RSERTYPUNAUTH", "service type not authorised", ClassPermanent},
	0x101: {"ESME_RPROHIBITED", "prohibited", ClassPermanent},
	0x102: {"ESME_RSERTYPUNAVAIL", "service type unavailable", ClassPermanent},
	0x103: {"ESME_RSERTYPDENIED", "service type denied", ClassPermanent},
	0x104: {"ESME_RINVDCS", "data coding", ClassPermanent},
	0x105: {"ESME_RINVSRCADDRSUBUNIT", "source subunit", ClassPermanent},
	0x106: {"ESME_RINVDSTADDRSUBUNIT", "destination subunit", ClassPermanent},
	0x107: {"ESME_RINVBCASTFREQINT", "broadcast frequency", ClassPermanent},
	0x108: {"ESME_RINVBCASTALIAS_NAME", "broadcast alias", ClassPermanent},
	0x109: {"ESME_RINVBCASTAREAFMT", "broadcast area format", ClassPermanent},
	0x10A: {"ESME_RINVNUMBCAST_AREAS", "number of broadcast areas", ClassPermanent},
	0x10B: {"ESME_RINVBCASTCNTTYPE", "broadcast content type", ClassPermanent},
	0x10C: {"ESME_RINVBCASTMSGCLASS", "broadcast message class", ClassPermanent},
	0x10D: {"ESME_RBCASTFAIL", "broadcast failed", ClassPermanent},
	0x10E: {"ESME_RBCASTQUERYFAIL", "broadcast query failed", ClassPermanent},
	0x10F: {"ESME_RBCASTCANCELFAIL", "broadcast cancel failed", ClassPermanent},
	0x110: {"ESME_RINVBCAST_REP", "broadcast repetitions", ClassPermanent},
	0x111: {"ESME_RINVBCASTSRVGRP", "broadcast service group", ClassPermanent},
	0x112: {"ESME_RINVBCASTCHANIND", "broadcast channel", ClassPermanent},
}

func (s Status) row() statusRow {
	if row, ok := statuses[s]; ok {
		return row
	}
	if s >= 0x400 && s <= 0x4FF {
		return statusRow{"", "code of the vendor", ClassPermanent}
	}
	return statusRow{"", "code that is not in the specification", ClassUnlisted}
}

// Class returns the status's class.
func (s Status) Class() Class { return s.row().class }

// Name returns the status's name, such as "ESME_RTHROTTLED"; empty where it has none.
func (s Status) Name() string { return s.row().name }

// Text says in a few words what the status is about.
func (s Status) Text() string { return s.row().text }

// String returns the number, such as "0x00000058".
func (s Status) String() string { return fmt.Sprintf("0x%08X", uint32(s)) }
