package prompt

// Evidence returns the end of a system prompt, which explains how the final reply quotes its evidence. asJSON means
// that the reply is a JSON object.
func Evidence(asJSON bool) string {
	where := "End your final reply with its evidence, in one block of this form:\n```evidence\n" + evidenceForm + "\n```\n"
	if asJSON {
		where = "Your JSON object lists its evidence under these keys:\n" + evidenceForm + "\n"
	}
	return "\n# Evidence for your reply\n" + where + evidenceRules
}

const evidenceForm = `{"evidence": [{"location": "<tool and object>", "content": "<verbatim quote>", "relevance": "<why it matters>",
  "confidence": 0.9}],
 "discoveries": [{"identifier": "<name>", "item_type": "<pod, service, …>", "location": "<where>"}],
 "items_pending": ["<what to check next>"]}`

const evidenceRules = `- content quotes a tool result or the alert verbatim: code checks that the quote exists.
- The first item is [e1], the next [e2], and so on. Cite an item after each sentence that relies on it, as in
  "checkout was restarted 7 times [e1]."
- Every number, name and time in such a sentence must appear in the cited evidence. Code checks this, and marks every
  number, name and time that is missing there. So do not convert, round or count anything in such sentences.
- If the evidence does not decide the question, write that it is inconclusive, and name in items_pending what to check
  next. That is a complete result.
`
