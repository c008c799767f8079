package tenant

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxLogin is the longest login, in characters.
const maxLogin = 100

// RightLogin says what a login may be.
const RightLogin = "use 1 to 100 characters that can be seen, without spaces, such as ann or ann@example.com"

// Login is the form in which a login is stored and compared: composed (Unicode, NFC) and in lower case, so that what
// looks the same is the same. False: it cannot be one.
func Login(raw string) (string, bool) {
	if !utf8.ValidString(raw) {
		return "", false
	}
	login := norm.NFC.String(strings.ToLower(norm.NFC.String(strings.TrimSpace(raw))))
	if login == "" || utf8.RuneCountInString(login) > maxLogin {
		return "", false
	}
	return login, !strings.ContainsFunc(login, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) })
}
