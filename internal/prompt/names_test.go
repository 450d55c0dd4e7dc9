package prompt

import "slices"

// Names returns the templates' names in alphabetical order.
func Names() []string { return slices.Clone(names[:]) }
