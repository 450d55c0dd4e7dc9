package transcript

// Findings are the tools that an agent has found or called.
type Findings struct {
	// Names are in the order in which the agent found or called each tool first.
	Names []string
	// Latest has a number for each name. It is higher for a tool that was found or called later, counting the last time, and for a
	// better match of the same search.
	Latest map[string]int
	// Searches means that the agent is offered only these tools besides Inquest's own.
	Searches bool
}

// Found returns the tools that an agent has found or called. entries must be in key order.
func Found(entries []Entry) Findings {
	found := Findings{Latest: map[string]int{}}
	count := 0
	add := func(name string, number int) {
		if found.Latest[name] == 0 {
			found.Names = append(found.Names, name)
		}
		found.Latest[name] = max(found.Latest[name], number)
	}
	for _, e := range entries {
		if e.Superseded {
			continue
		}
		found.Searches = found.Searches || e.ToolSearch
		for _, call := range e.Calls {
			count++
			add(call.Name, count)
		}
		count += len(e.Result.Found)
		for n, name := range e.Result.Found {
			add(name, count-n)
		}
	}
	return found
}
