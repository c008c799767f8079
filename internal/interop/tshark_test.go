//go:build services

package interop

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	wire "github.com/einmal/einmal/internal/smpp"
	"github.com/einmal/einmal/internal/smpp/smpptest"
)

// TestDissector: tshark finds in every PDU that we write what we put there, and nothing to complain about.
func TestDissector(t *testing.T) {
	t.Parallel()
	samples := smpptest.Samples()
	var payloads [][]byte
	for _, s := range samples {
		raw, err := s.PDU.Append(nil)
		must(t, err)
		payloads = append(payloads, raw)
	}
	packets := dissect(t, payloads)
	if len(packets) != len(samples) {
		t.Fatalf("%d packets, want %d", len(packets), len(samples))
	}
	for i, s := range samples {
		for _, problem := range packets[i].problems(s.PDU) {
			t.Errorf("%s: %s", s.Name, problem)
		}
	}
}

// TestDissectorComplains: what is broken is found to be, so that silence means something.
func TestDissectorComplains(t *testing.T) {
	t.Parallel()
	raw := smpptest.Vectors(t)["submit_sm_gsm7"].Raw(t)
	cut := append([]byte(nil), raw[:60]...)
	cut[3] = 60
	packet := dissect(t, [][]byte{cut})[0]
	if p, err := wire.Decode(raw); err != nil || len(packet.problems(p)) == 0 {
		t.Errorf("a PDU that ends in its middle: %+v, %v", packet, err)
	}
}

// packet is a packet's protocols as tshark shows them.
type packet map[string]any

// dissect lets tshark read PDUs.
func dissect(t *testing.T, payloads [][]byte) []packet {
	t.Helper()
	file := filepath.Join(t.TempDir(), "capture")
	capture(t, file, payloads)
	cmd := exec.Command(wanted(t, "EINMAL_TEST_TSHARK", "the program tshark"), "-n", "-r", file, "-T", "json", "--no-duplicate-keys")
	cmd.Env = append(os.Environ(), "TZ=UTC", "HOME="+t.TempDir()) // nobody's preferences
	out, err := cmd.Output()
	must(t, err)
	var all []struct {
		Source struct{ Layers packet } `json:"_source"`
	}
	must(t, json.Unmarshal(out, &all))
	packets := make([]packet, len(all))
	for i, p := range all {
		packets[i] = p.Source.Layers
	}
	return packets
}

// problems says what is not as the PDU has it.
func (p packet) problems(pdu wire.PDU) (all []string) {
	layer, _ := p["smpp"].(map[string]any)
	shown := map[string][]string{}
	flatten(layer, shown)
	for name := range shown {
		if strings.HasPrefix(name, "_ws.") {
			all = append(all, "tshark complains: "+name)
		}
	}
	if _, ok := p["_ws.malformed"]; ok || layer == nil {
		all = append(all, "tshark finds it malformed")
	}
	for name, want := range expected(pdu) {
		if problem := compare(shown[name], want); problem != "" {
			all = append(all, name+" "+problem)
		}
	}
	return all
}

// flatten gathers the values of every field in their order.
func flatten(v map[string]any, into map[string][]string) {
	for name, value := range v {
		switch value := value.(type) {
		case string:
			into[name] = append(into[name], value)
		case map[string]any:
			flatten(value, into)
		case []any:
			for _, each := range value {
				if s, ok := each.(string); ok {
					into[name] = append(into[name], s)
				} else if m, ok := each.(map[string]any); ok {
					flatten(m, into)
				}
			}
		}
	}
}

// compare is empty where tshark shows what is wanted: integers in any base, texts as they are.
func compare(shown []string, want []any) string {
	if len(shown) != len(want) {
		return fmt.Sprintf("is there %d times, %q; want %v", len(shown), shown, want)
	}
	for i, w := range want {
		text, isText := w.(string)
		n, err := strconv.ParseUint(shown[i], 0, 64)
		if isText && shown[i] != text || !isText && (err != nil || fmt.Sprint(n) != fmt.Sprint(w)) {
			return fmt.Sprintf("is %q, want %v", shown, want)
		}
	}
	return ""
}

// expectation is what tshark must show, by its names of fields.
type expectation map[string][]any

func (e expectation) add(name string, v any) { e["smpp."+name] = append(e["smpp."+name], v) }

func expected(p wire.PDU) expectation {
	e := expectation{}
	e.add("command_id", uint32(p.Command))
	e.add("sequence_number", p.Sequence)
	if p.Command.IsResponse() {
		e.add("command_status", uint32(p.Status))
	}
	for name, value := range smpptest.Fields(p.Body) {
		e.field(name, value)
	}
	for _, v := range p.TLVs {
		e.add("opt_param_tag", uint16(v.Tag))
		e.add("opt_param_len", len(v.Value))
		e.tlv(v)
	}
	return e
}

// field adds a mandatory field. Bit fields are shown in pieces, times as times, an empty message_id or final_date
// not at all.
func (e expectation) field(name string, value any) {
	if value == "" && (name == "message_id" || name == "final_date") {
		return
	}
	switch name {
	case "esm_class":
		bits := value.(uint8)
		e.add("esm.submit.msg_mode", bits&3)
		e.add("esm.submit.msg_type", bits>>2&0xF)
		e.add("esm.submit.features", bits>>6)
	case "registered_delivery":
		bits := value.(uint8)
		e.add("regdel.receipt", bits&3)
		e.add("regdel.acks", bits>>2&3)
		e.add("regdel.notif", bits>>4&1)
	case "schedule_delivery_time", "validity_period", "final_date":
		e.time(name, value.(string))
	case "short_message_hex":
		if s := value.(string); s != "" {
			e.add("message", colons(s))
		}
	case "dest_address", "unsuccess_sme":
		for _, each := range value.([]any) {
			for name, value := range each.(map[string]any) {
				e.add(name, value)
			}
		}
	case "service_type":
		if value == "" {
			value = "(Default)"
		}
		e.add(name, value)
	default:
		e.add(name, value)
	}
}

func (e expectation) time(name, s string) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at, err := wire.ParseTime(s, now)
	switch {
	case err != nil:
		e.add(name, err.Error())
	case s == "":
		e.add(name+"_r", "0.000000000")
	case strings.HasSuffix(s, "R"):
		e.add(name+"_r", fmt.Sprintf("%d.000000000", int(at.Sub(now).Seconds())))
	default:
		e.add(name, at.Format("Jan _2, 2006 15:04:05.000000000 MST"))
	}
}

// colons writes hexadecimal digits as tshark does.
func colons(digits string) string {
	var pairs []string
	for i := 0; i < len(digits); i += 2 {
		pairs = append(pairs, digits[i:i+2])
	}
	return strings.Join(pairs, ":")
}

// tlv adds the value of a TLV, some in pieces.
func (e expectation) tlv(t wire.TLV) {
	v := t.Value
	switch t.Tag {
	case wire.TagMSMsgWaitFacilities:
		e.add("msg_wait.ind", v[0]>>7)
		e.add("msg_wait.type", v[0]&3)
	case wire.TagSCInterfaceVersion:
		e.add("SC_interface_version", v[0])
	case wire.TagCallbackNumPresInd:
		e.add("callback_num.pres", v[0]>>2&3)
		e.add("callback_num.scrn", v[0]&3)
	case wire.TagNetworkErrorCode:
		e.add("network_error.type", v[0])
		e.add("network_error.code", integer(v[1:]))
	case wire.TagITSSessionInfo:
		e.add("its_session.number", v[0])
		e.add("its_session.sequence", v[1]>>1)
		e.add("its_session.ind", v[1]&1)
	case wire.TagAlertOnMessageDelivery:
		e.add("alert_on_message_delivery_null", "")
	case wire.TagCallbackNumAtag, wire.TagCallbackNum:
		e.add(t.Tag.String(), "") // tshark takes them for opaque
	case wire.TagAdditionalStatusInfoText, wire.TagReceiptedMessageID:
		e.add(t.Tag.String(), strings.TrimSuffix(string(v), "\x00"))
	case wire.TagSourceSubaddress, wire.TagDestSubaddress, wire.TagMessagePayload:
		e.add(t.Tag.String(), colons(fmt.Sprintf("%x", v)))
	default:
		e.add(t.Tag.String(), integer(v))
	}
}
