package mask

// keyName is the end of a key, and the kind of what stands behind it.
type keyName struct {
	end  string // lower case, without what separates words
	kind kind
	// word: only as words of their own, not as the end of one ("pwd", not "cwpwd").
	word bool
	// after: only after another word ("db_pass", not the "pass" of a test).
	after bool
	// looks is what a value has to look like, where the key alone says too little; nil = any.
	looks func(value string) bool
}

// takes reports whether a value may be what the name says.
func (n *keyName) takes(value string) bool { return n.looks == nil || n.looks(value) }

// keyNames are ordered by how much they say: of those that end a key, the first
// whose kind is wanted wins.
var keyNames = []keyName{
	{end: "secretaccesskey", kind: awsSecretKey},
	{end: "awssecretkey", kind: awsSecretKey},
	{end: "xamzsignature", kind: awsSecretKey}, // of a URL that lets its owner in
	{end: "accesskeyid", kind: awsAccessKey},
	{end: "awsaccesskey", kind: awsAccessKey},
	{end: "certificateauthoritydata", kind: certificateAuthorityData},
	{end: "cabundle", kind: certificateAuthorityData},
	{end: "clientcertificatedata", kind: certificate},
	{end: "sshprivatekey", kind: sshKey},
	{end: "sshkey", kind: sshKey},
	{end: "clientkeydata", kind: privateKey},
	{end: "privatekeyid", kind: gcpKey},
	{end: "privatekey", kind: privateKey},
	{end: "privatekey", kind: gcpKey},
	{end: "accountkey", kind: azureKey},
	{end: "sharedaccesskey", kind: azureKey},
	{end: "sharedaccesssignature", kind: azureKey},
	{end: "storagekey", kind: azureKey},
	{end: "xgoogsignature", kind: gcpKey},
	{end: "sig", kind: azureKey, word: true},
	{end: "githubtoken", kind: githubToken},
	{end: "ghtoken", kind: githubToken},
	{end: "slacktoken", kind: slackToken},
	{end: "slackbottoken", kind: slackToken},
	{end: "authorization", kind: authorization},
	{end: "cookie", kind: authorization},
	{end: "apikey", kind: apiKey},
	{end: "licensekey", kind: apiKey},
	{end: "subscriptionkey", kind: apiKey},
	{end: "accesskey", kind: apiKey},
	{end: "authkey", kind: apiKey},
	{end: "secretkey", kind: secretKey},
	{end: "secretaccesskey", kind: secretKey},
	{end: "signingkey", kind: secretKey},
	{end: "hmackey", kind: secretKey},
	{end: "secretkeybase", kind: secretKey},
	{end: "unsealkey", kind: secretKey},
	{end: "presharedkey", kind: secretKey},
	{end: "appkey", kind: secretKey, looks: long},
	{end: "salt", kind: secretKey, word: true, looks: long},
	{end: "servicekey", kind: apiKey, looks: long},
	{end: "routingkey", kind: apiKey, looks: hex32},
	{end: "integrationkey", kind: apiKey, looks: long},
	{end: "honeycombteam", kind: apiKey, looks: long},
	{end: "encryptionkey", kind: secretKey},
	{end: "masterkey", kind: secretKey},
	{end: "sharedkey", kind: secretKey},
	{end: "secret", kind: secretKey},
	{end: "secretid", kind: secretKey, looks: long},
	{end: "privatemac", kind: secretKey},
	{end: "totpseed", kind: secretKey},
	{end: "jwt", kind: jwt, word: true},
	{end: "jwt", kind: token, word: true},
	{end: "token", kind: token},
	{end: "bearer", kind: token, word: true},
	{end: "signature256", kind: token},
	{end: "sessionid", kind: authorization, looks: long},
	{end: "sessid", kind: authorization, looks: long},
	{end: "session", kind: authorization, looks: long},
	{end: "sid", kind: authorization, word: true, looks: long},
	{end: "auth", kind: authorization, word: true, looks: long},
	{end: "credential", kind: password},
	{end: "credentials", kind: password, looks: random},
	{end: "otp", kind: password, word: true, looks: code},
	{end: "pin", kind: password, word: true, looks: code},
	{end: "pincode", kind: password, looks: code},
	{end: "mfacode", kind: password, looks: code},
	{end: "verificationcode", kind: password, looks: code},
	{end: "recoverycode", kind: password, looks: random},
	{end: "accesscode", kind: password, looks: random},
	{end: "community", kind: password, looks: random},
	{end: "password", kind: password},
	{end: "passwd", kind: password},
	{end: "passphrase", kind: password},
	{end: "passcode", kind: password},
	{end: "requirepass", kind: password},
	{end: "masterauth", kind: password},
	{end: "pwd", kind: password, word: true},
	{end: "pass", kind: password, word: true, after: true},
	{end: "dbpass", kind: password},
	{end: "userpass", kind: password},
	{end: "storepass", kind: password},
	{end: "keypass", kind: password},
	{end: "passwordhash", kind: password, looks: long},
	{end: "psk", kind: password, word: true},
	{end: "pw", kind: password, word: true, looks: letters},
	{end: "passwort", kind: password},
	{end: "kennwort", kind: password},
	{end: "contraseña", kind: password},
	{end: "motdepasse", kind: password},
	{end: "passe", kind: password, word: true},
	{end: "senha", kind: password, word: true},
	{end: "wachtwoord", kind: password},
	{end: "hasło", kind: password},
	{end: "пароль", kind: password},
	{end: "Пароль", kind: password},
	{end: "密码", kind: password},
	{end: "パスワード", kind: password},
}

// harmless are keys that end like one of a secret: pages of lists, and names of
// Secrets. An agent needs them.
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

// byLastLetter finds the names for a key quickly, or that there are none.
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

const maxKey = 64 // bytes of a key's end that are looked at

// nameOf is the name that ends a key; nil = none that the set has.
func (s set) nameOf(key string) *keyName {
	if key == "" || key == "PWD" { // the shell's folder
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

// fits reports whether a name that ends a key is words of their own, if it must be.
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

// flatten writes a key in lower case and without what separates words.
func flatten(key string, buffer *[maxKey]byte) []byte {
	flat := buffer[:0]
	for i := range len(key) {
		if c := key[i]; !separates(c) {
			flat = append(flat, lower(c))
		}
	}
	return flat
}
