package a

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strings"
)

func first(all map[string]int) string {
	for name := range all {
		return name // reported
	}
	return ""
}

func last(all map[string]int) (found string) {
	for name, n := range all {
		if long := name + name; n > 1 {
			found = long // reported
		}
	}
	return found
}

func key(all map[string]int) string {
	for name := range maps.Keys(all) {
		return name // reported
	}
	// any order: the map has one entry
	for name := range all {
		return name
	}
	return ""
}

func none(all map[string]int, list []string) (most int, some bool) {
	for name, n := range all {
		most = max(most, n)
		all[name] = n
		func() int { return n }()
	}
	for _, name := range list {
		if all[name] > 0 {
			return all[name], true
		}
	}
	for _, n := range all {
		if n > 1 {
			return 0, true
		}
	}
	return most, some
}

type entry struct {
	name  string
	count int
	ok    bool
	names []string
}

func decode(all map[string]json.RawMessage) (name string, names map[string]string) {
	names = map[string]string{}
	for key, value := range all {
		json.Unmarshal(value, &name) // reported
		var each string
		json.Unmarshal(value, &each)
		names[key] = each
	}
	return name, names
}

func parts(all map[string]int, list []string, byName map[string]*entry) (e entry, lower map[string]int) {
	lower = map[string]int{}
	for name, n := range all {
		e.name = name                    // reported
		list[0] = name                   // reported
		lower[strings.ToLower(name)] = n // reported
		byName[name].name = name
		e.count += n
		e.count++
		e.ok = e.ok || n > 1
		e.names = append(e.names, name)
		delete(lower, name)
	}
	return e, lower
}

func text(all map[string]int, w io.Writer, b *strings.Builder, each map[string]*strings.Builder) (text string) {
	var buffer bytes.Buffer
	for name := range all {
		text += name                // reported
		b.WriteString(name)         // reported
		buffer.Write([]byte(name))  // reported
		fmt.Fprintln(w, name)       // reported
		fmt.Fprintln(&buffer, name) // reported
		each[name].WriteString(name)
		buffer.WriteByte('.')
		text += "."
		var own strings.Builder
		own.WriteString(name)
	}
	return text
}

func stop(all map[string]int, some map[string]bool) (found string, total int, names []string) {
	for found = range all { // reported
		break
	}
	for name, n := range all {
		if n > 1 {
			total += n // reported
			some[name] = true
			break
		}
		for _, c := range name {
			total += int(c)
			break
		}
	}
	for name, n := range all {
		some[name] = n > 1 // reported
		names = append(names, name)
		break
	}
	return found, total, names
}
