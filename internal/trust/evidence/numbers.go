package evidence

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// number is a quantity in a claim or in a cited text.
type number struct {
	raw      string
	value    float64
	decimals int // digits after the decimal point
	digits   int // significant digits
	// units are its possible units: "2" in "2 to 5 ms" has none, or that of the 5.
	units []string
	at    int // index of its word
}

// unit is a unit of measurement: its dimension, and its possible sizes in that dimension.
type unit struct {
	of     string
	scales []float64
}

const (
	ofTime  = "time"
	ofBytes = "bytes"
	ofShare = "share"
	ofCount = "" // none
)

// units maps spellings to units. Byte units are powers of 1,000 or, as many programs use them, of 1,024.
var units = unitTable()

func unitTable() map[string]unit {
	all := map[string]unit{}
	add := func(of string, spellings string, scales ...float64) {
		for _, one := range strings.Fields(spellings) {
			all[one] = unit{of, scales}
		}
	}
	add(ofTime, "ns nanosecond nanoseconds", 1e-9)
	add(ofTime, "us µs μs microsecond microseconds", 1e-6)
	add(ofTime, "ms msec msecs millis millisecond milliseconds", 1e-3)
	add(ofTime, "s sec secs second seconds", 1)
	add(ofTime, "m min mins minute minutes", 60)
	add(ofTime, "h hr hrs hour hours", 3600)
	add(ofTime, "d day days", 86400)
	add(ofTime, "w week weeks", 604800)
	add(ofShare, "% percent pct pp", 1)
	add(ofCount, "x times × thousand million billion", 1)
	all["thousand"], all["k"], all["K"] = unit{ofCount, []float64{1e3}}, unit{ofCount, []float64{1e3}}, unit{ofCount, []float64{1e3}}
	all["million"], all["M"], all["billion"] = unit{ofCount, []float64{1e6}}, unit{ofCount, []float64{1e6}}, unit{ofCount, []float64{1e9}}
	add(ofBytes, "B byte bytes", 1)
	for n, prefix := range []string{"K", "M", "G", "T", "P"} {
		binary, decimal := math.Pow(1024, float64(n+1)), math.Pow(1000, float64(n+1))
		add(ofBytes, prefix+"i "+prefix+"iB", binary)
		add(ofBytes, prefix+"B "+strings.ToLower(prefix)+"B "+strings.ToLower(prefix)+"b", decimal, binary)
	}
	all["G"] = all["GB"]
	return all
}

// unitOf finds a unit by its spelling. Single letters are case-sensitive (M, m); words may be capitalized at the beginning of a
// sentence.
func unitOf(spelling string) (unit, bool) {
	u, ok := units[spelling]
	if !ok && len(spelling) > 1 {
		u, ok = units[strings.ToLower(spelling)]
	}
	return u, ok
}

func isUnit(spelling string) bool {
	_, ok := unitOf(spelling)
	return ok
}

var (
	numeric  = regexp.MustCompile(`^([-−]?)(\d[\d,'’_]*)((?:\.\d+)?)((?:[eE][+-]?\d+)?)(\pL*|%|×)$`)
	duration = regexp.MustCompile(`^(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h|d)){2,}$`)
	element  = regexp.MustCompile(`(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h|d)`)
	grouped  = regexp.MustCompile(`^\d{1,3}(?:[,'’_]\d{3})+$`)
	decimal  = regexp.MustCompile(`^\d+,\d{1,2}$`) // 12,5: thousands have three digits
	ordinal  = regexp.MustCompile(`^(\d+)(?:st|nd|rd|th)$`)
)

// longest is the maximum number of digits of a number; a longer one is a name.
const longest = 15

// exact is the number of decimals of a number that is not rounded.
const exact = 9

// numberOf parses a token that is a number, with or without a unit.
func numberOf(token string) (n number, ok bool) {
	if duration.MatchString(token) {
		n = number{raw: token, units: []string{"s"}}
		for _, m := range element.FindAllStringSubmatch(token, -1) {
			part, _ := strconv.ParseFloat(m[1], 64)
			n.value += part * units[m[2]].scales[0]
		}
		n.decimals, n.digits = exact, longest
		return n, true
	}
	if m := ordinal.FindStringSubmatch(token); m != nil {
		token = m[1]
	}
	m := numeric.FindStringSubmatch(token)
	if m == nil {
		return n, false
	}
	whole, fraction := m[2], m[3]
	switch {
	case grouped.MatchString(whole):
		whole = strings.Map(onlyDigits, whole)
	case decimal.MatchString(whole) && fraction == "":
		before, after, _ := strings.Cut(whole, ",")
		whole, fraction = before, "."+after
	case strings.Map(onlyDigits, whole) != whole:
		return n, false
	}
	if _, known := unitOf(m[5]); m[5] != "" && !known || len(whole) > longest {
		return n, false
	}
	value, err := strconv.ParseFloat(whole+fraction+m[4], 64)
	if err != nil {
		return n, false
	}
	if m[1] != "" {
		value = -value
	}
	significant := len(strings.TrimLeft(whole+strings.TrimPrefix(fraction, "."), "0"))
	return number{raw: token, value: value, decimals: max(len(fraction)-1, 0), digits: significant, units: []string{m[5]}}, true
}

func onlyDigits(r rune) rune {
	if r < '0' || r > '9' {
		return -1
	}
	return r
}

// in reports whether a number of a claim is among the cited ones. Both must have a unit of the same dimension, or none. A number
// with a unit or a decimal point may be rounded to two or more digits.
func (n number) in(cited []number) bool {
	for _, c := range cited {
		for _, mine := range n.units {
			for _, its := range c.units {
				if n.matches(mine, c, its) {
					return true
				}
			}
		}
	}
	return false
}

func (n number) matches(mine string, cited number, its string) bool {
	u, theirs := measured(mine), measured(its)
	value := cited.value
	if u.of == ofShare && its == "" && value > 0 && value < 1 && cited.decimals > 1 { // a ratio
		theirs, value = u, value*100
	}
	if u.of != theirs.of {
		return false
	}
	for _, scale := range u.scales {
		for _, other := range theirs.scales {
			claimed, found := n.value*scale, value*other
			if math.Abs(claimed-found) <= 1e-9*max(math.Abs(claimed), math.Abs(found)) {
				return true
			}
			half := scale * math.Pow10(-n.decimals) / 2
			round := n.digits >= 2 && n.decimals < exact && (u.of != ofCount || n.decimals > 0 || scale != 1)
			if round && math.Abs(claimed-found) <= half*(1+1e-9) {
				return true
			}
		}
	}
	return false
}

// measured returns the unit of a spelling; without one, the number is a count.
func measured(spelling string) unit {
	if u, ok := unitOf(spelling); ok {
		return u
	}
	return unit{ofCount, []float64{1}}
}

// words are numbers that are written out.
var words = map[string]float64{
	"zero": 0, "one": 1, "once": 1, "two": 2, "twice": 2, "three": 3, "thrice": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
	"nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "dozen": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50,
	"sixty": 60, "ninety": 90, "hundred": 100,
}
