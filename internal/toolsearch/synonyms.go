package toolsearch

import (
	"slices"

	"github.com/inquest-dev/inquest/internal/knowledge/memory"
)

// synonymWeight is the weight of a synonym in comparison with a word of the query itself.
const synonymWeight = 0.5

// groups are words that people and servers use for the same thing.
var groups = [][]string{
	{"get", "read", "show", "fetch", "view", "retrieve", "inspect"},
	{"list", "find", "search", "query"},
	{"create", "add", "new", "open", "post"},
	{"delete", "remove", "drop"},
	{"update", "change", "edit", "modify", "set"},
	{"run", "execute", "start", "trigger"},
	{"cancel", "stop", "abort"},
	{"log", "logs", "output"},
	{"comment", "note"},
	{"job", "build"},
	{"pull", "merge"},
	{"deploy", "deployment", "rollout"},
	{"member", "user", "people"},
	{"directory", "folder"},
	{"container", "pod"},
	{"message", "conversation"},
	{"alert", "alarm"},
	{"repository", "repo", "project"},
}

// synonyms has the other words of a word's group, without endings.
var synonyms = func() map[string][]string {
	all := map[string][]string{}
	for _, group := range groups {
		var stems []string
		for _, word := range group {
			if s := memory.Words(word)[0]; !slices.Contains(stems, s) {
				stems = append(stems, s)
			}
		}
		for n, word := range stems {
			all[word] = append(all[word], slices.Delete(slices.Clone(stems), n, n+1)...)
		}
	}
	return all
}()
