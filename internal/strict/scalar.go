package strict

import (
	"reflect"
	"regexp"
	"strconv"
	"time"

	"gopkg.in/yaml.v3"
)

// scalar decodes text, a number, a boolean or a duration.
func (d *decoder) scalar(n *yaml.Node, p Path, dst reflect.Value, late bool) {
	if !d.want(n, p, yaml.ScalarNode, "one value, not a list or mapping") {
		return
	}
	text, missing, ok := d.expand(n, p)
	switch {
	case !ok:
	case late:
		dst.SetString(n.Value)
	case len(missing) > 0:
		d.lacks(p, missing)
	default:
		d.assign(n, text, p, dst)
	}
}

// expand returns the text of n with its variables expanded, and the names of those that are not set.
func (d *decoder) expand(n *yaml.Node, p Path) (text string, missing []string, ok bool) {
	text, missing, err := d.vars.Expand(n.Value)
	if err != nil {
		d.Fail(p, "%v", err)
		return "", nil, false
	}
	if text != n.Value || len(missing) > 0 {
		d.templates[p.Text] = n.Value
	}
	return text, missing, true
}

func (d *decoder) lacks(p Path, missing []string) {
	for _, name := range missing {
		d.Unset = append(d.Unset, unsetVariable{Path: p, Name: name})
	}
}

// assign parses the expanded text of n into dst. Errors quote the text as written, because a variable's value may be
// secret.
func (d *decoder) assign(n *yaml.Node, text string, p Path, dst reflect.Value) {
	switch {
	case dst.Kind() == reflect.String:
		dst.SetString(text)
	case IsDuration(dst.Type()):
		length, ok := parseDuration(text)
		if !ok {
			d.Fail(p, "must be a positive duration such as 30s or 5m, at most 87600h, got %q", n.Value)
			return
		}
		dst.SetInt(int64(length))
	default:
		scalar := *n
		if text != n.Value { // its type is known only after expansion
			scalar = yaml.Node{Kind: yaml.ScalarNode, Value: text}
		}
		half := dst.CanInt() && scalar.ShortTag() != "!!int" // it would be rounded
		if half || scalar.ShortTag() == "!!null" || scalar.Decode(dst.Addr().Interface()) != nil {
			d.Fail(p, "must be %s, got %q", KindName(dst.Kind()), n.Value)
		}
	}
}

func KindName(kind reflect.Kind) string {
	switch kind {
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "a whole number"
}

// IsDuration reports whether a type is a time.Duration that is written as text.
func IsDuration(t reflect.Type) bool {
	return t.Kind() == reflect.Int64 && t.Implements(reflect.TypeFor[interface{ D() time.Duration }]())
}

const maxSeconds = 10 * 365 * 24 * 3600

var digits = regexp.MustCompile(`^[0-9]{1,9}$`)

// parseDuration parses a duration ("90s"), or whole seconds without a unit.
func parseDuration(text string) (time.Duration, bool) {
	if digits.MatchString(text) {
		seconds, err := strconv.Atoi(text)
		return time.Duration(seconds) * time.Second, err == nil && seconds > 0 && seconds <= maxSeconds
	}
	length, err := time.ParseDuration(text)
	return length, err == nil && length > 0 && length <= maxSeconds*time.Second
}
