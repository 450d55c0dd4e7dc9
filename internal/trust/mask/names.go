package mask

import "slices"

// keyName is the end of a key that names a secret, and the kind of its value.
type keyName struct {
	end  string // lower case, without word separators
	kind kind
	// word means only as a whole word, not as the end of one ("pwd", not "cwpwd").
	word bool
	// after means only after another word ("db_pass", not the "pass" of a test).
	after bool
	// looks checks the form of a value if the key alone is too vague; nil accepts any.
	looks func(value string) bool
}

// takes reports whether a value may be a secret of that name.
func (n *keyName) takes(value string) bool { return n.looks == nil || n.looks(value) }

// keyNames are ordered from specific to general: of those that end a key, the first with an enabled kind wins.
var keyNames = slices.Concat(
	keyName{kind: awsSecretKey}.with("secretaccesskey", "awssecretkey", "xamzsignature"), // the last one grants access
	keyName{kind: awsAccessKey}.with("accesskeyid", "awsaccesskey"),
	keyName{kind: certificateAuthorityData}.with("certificateauthoritydata", "cabundle"),
	keyName{kind: certificate}.with("clientcertificatedata"),
	keyName{kind: sshKey}.with("sshprivatekey", "sshkey"),
	keyName{kind: privateKey}.with("clientkeydata"),
	keyName{kind: gcpKey}.with("privatekeyid"),
	keyName{kind: privateKey}.with("privatekey"),
	keyName{kind: gcpKey}.with("privatekey"),
	keyName{kind: azureKey}.with("accountkey", "sharedaccesskey", "sharedaccesssignature", "storagekey"),
	keyName{kind: gcpKey}.with("xgoogsignature"),
	keyName{kind: azureKey, word: true}.with("sig"),
	keyName{kind: githubToken}.with("githubtoken", "ghtoken"),
	keyName{kind: slackToken}.with("slacktoken", "slackbottoken"),
	keyName{kind: authorization}.with("authorization", "cookie"),
	keyName{kind: basicAuth}.with("authident"),
	keyName{kind: apiKey}.with("apikey", "licensekey", "subscriptionkey", "accesskey", "authkey"),
	keyName{kind: secretKey, looks: notAKey}.with("secretkey"), // in an ExternalSecret, it names a key
	keyName{kind: secretKey}.with("secretaccesskey", "signingkey", "hmackey", "secretkeybase", "unsealkey", "presharedkey"),
	keyName{kind: secretKey, looks: long}.with("appkey"),
	keyName{kind: secretKey, word: true, looks: long}.with("salt"),
	keyName{kind: apiKey, looks: long}.with("servicekey"),
	keyName{kind: apiKey, looks: hex32}.with("routingkey"),
	keyName{kind: apiKey, looks: long}.with("integrationkey", "honeycombteam"),
	keyName{kind: secretKey}.with("encryptionkey", "masterkey", "sharedkey", "secret"),
	keyName{kind: secretKey, looks: long}.with("secretid"),
	keyName{kind: secretKey}.with("privatemac", "totpseed"),
	keyName{kind: jwt, word: true}.with("jwt"),
	keyName{kind: token, word: true}.with("jwt"),
	keyName{kind: token}.with("token"),
	keyName{kind: token, word: true}.with("bearer"),
	keyName{kind: token}.with("signature256"),
	keyName{kind: authorization, looks: long}.with("sessionid", "sessid", "session"),
	keyName{kind: authorization, word: true, looks: long}.with("sid", "auth"),
	keyName{kind: password}.with("credential"),
	keyName{kind: password, looks: random}.with("credentials"),
	keyName{kind: password, word: true, looks: code}.with("otp", "pin"),
	keyName{kind: password, looks: code}.with("pincode", "mfacode", "verificationcode"),
	keyName{kind: password, looks: random}.with("recoverycode", "accesscode", "community"),
	keyName{kind: password}.with("password", "passwd", "passphrase", "passcode", "requirepass", "masterauth"),
	keyName{kind: password, word: true}.with("pwd"),
	keyName{kind: password, word: true, after: true}.with("pass"),
	keyName{kind: password}.with("bindpw", "dbpass", "userpass", "storepass", "keypass"),
	keyName{kind: password, looks: long}.with("passwordhash"),
	keyName{kind: password, word: true}.with("psk"),
	keyName{kind: password, word: true, looks: letters}.with("pw"),
	keyName{kind: password}.with("passwort", "kennwort", "contraseña", "motdepasse"),
	keyName{kind: password, word: true}.with("passe", "senha"),
	keyName{kind: password}.with("wachtwoord", "hasło", "пароль", "Пароль", "密码", "パスワード"),
)

// with returns names that differ only in their ends.
func (n keyName) with(ends ...string) (all []keyName) {
	for _, n.end = range ends {
		all = append(all, n)
	}
	return all
}

// harmless are keys that end like a secret's but are not: page tokens of lists, and names of Secrets. An agent needs them.
var harmless = []string{
	"nexttoken", "pagetoken", "continuationtoken", "continuetoken", "synctoken", "canceltoken",
	"imagepullsecret", "existingsecret", "tlssecret", "oldpwd", "publictoken", "jsonwebtoken",
}

// keyed are the kinds that keys name.
var keyed = func() (all set) {
	for _, n := range keyNames {
		all |= setOf(n.kind)
	}
	return all
}()

// byLastLetter indexes the names for fast lookup.
var byLastLetter = func() (index [256][]keyName) {
	for _, n := range keyNames {
		last := n.end[len(n.end)-1]
		index[last] = append(index[last], n)
		if isLower(last) {
			index[last-'a'+'A'] = index[last]
		}
	}
	return index
}()

const maxKey = 64 // bytes at the end of a key that are examined

// nameOf returns the name that ends a key; nil means none of the set's kinds.
func (s set) nameOf(key string) *keyName {
	if key == "" || key == "PWD" { // the shell's current folder
		return nil
	}
	names := byLastLetter[key[len(key)-1]]
	if len(names) == 0 {
		return nil
	}
	if len(key) > maxKey {
		key = key[len(key)-maxKey:]
	}
	var buffer [maxKey]byte
	flat := flatten(key, &buffer)
	for i := range names {
		n := &names[i]
		if s.has(n.kind) && endsWith(flat, n.end) && n.fits(key, len(flat) > len(n.end)) {
			for _, end := range harmless {
				if endsWith(flat, end) {
					return nil
				}
			}
			return n
		}
	}
	return nil
}

func endsWith(flat []byte, end string) bool {
	return len(flat) >= len(end) && string(flat[len(flat)-len(end):]) == end
}

// fits reports whether a name at the end of a key is a whole word, if it must be.
func (n keyName) fits(key string, longer bool) bool {
	if !n.word {
		return true
	}
	if !longer {
		return !n.after
	}
	before, first := key[len(key)-len(n.end)-1], key[len(key)-len(n.end)]
	return separates(before) || isLower(before) && isUpper(first)
}

// flatten returns a key in lower case and without word separators.
func flatten(key string, buffer *[maxKey]byte) []byte {
	flat := buffer[:0]
	for i := range len(key) {
		if c := key[i]; !separates(c) {
			flat = append(flat, lower(c))
		}
	}
	return flat
}
