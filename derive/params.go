package derive

import "strings"

// A role is what a parameter is for, as far as its name tells.
type role uint8

const (
	noRole    role = iota
	paging         // which part of an answer: limit, cursor
	narrowing      // which things to answer with: filter, since
	question       // what is asked: query, q
	content        // what is to be kept or said: body, message
	code           // what is to be executed: sql, command
	address        // where to reach: url, host
	recipient      // whom to tell: to, channel
	output         // where to put the answer: output_path
	keeping        // how to write the answer: overwrite
	callback       // where to report later: webhook_url
	assent         // that the caller means it: confirm, force
	rehearsal      // not to do it: dry_run
	money          // how much: amount
	numRoles
)

// asks reports whether such a parameter shapes an answer.
func (r role) asks() bool { return r == paging || r == narrowing || r == question }

// keeps reports whether such a parameter is something to keep, to execute, to
// send or to mean.
func (r role) keeps() bool {
	return r == content || r == code || r == recipient || r == money || r == output || r == keeping || r == callback || r == assent
}

var roleNames = [numRoles]string{
	"none", "paging", "narrowing", "question", "content", "code", "address", "recipient", "output", "keeping", "callback", "assent",
	"rehearsal", "money",
}

// roleDeeds says in words what a parameter of each role is.
var roleDeeds = [numRoles]string{
	"a parameter", "a part of an answer", "a filter", "a question", "something to keep or to say", "something to execute",
	"an address", "a recipient", "a place to write to", "a way to write", "an address to report to", "a confirmation", "a rehearsal flag",
	"an amount",
}

// roleOf finds the role a feature names, with or without "required".
func roleOf(word string) role {
	word = strings.TrimPrefix(word, "required ")
	for r, name := range roleNames {
		if name == word {
			return role(r)
		}
	}
	return noRole
}

// roles maps the names of parameters, joined by underscores, to their roles.
var roles = makeRoles(map[role]string{
	paging: "limit offset page page_size per_page cursor start_cursor end_cursor page_token next_token max_results " +
		"maxresults count top skip take first last after before page_number page_num size num_results rows max_items " +
		"starting_after ending_before continuation_token skiptoken next_page max batch_size limit_per_page k top_k n",
	narrowing: "filter filters sort sort_by sort_order order order_by orderby direction since until from_date to_date " +
		"start_date end_date date_from date_to start_time end_time created_after created_before updated_after " +
		"updated_before fields include includes exclude expand select include_archived include_deleted date_range " +
		"time_range period days hours category categories status state statuses range depth max_depth verbose " +
		"include_details lang language country region locale format response_format output_format detail time_frame",
	question: "query q search search_term search_query term keyword keywords question pattern prompt topic text_query regex " +
		"queries natural_language_query",
	content: "body content text message title subject description html payload data value values note comment markdown " +
		"summary properties attributes metadata blocks labels tags assignee assignees priority due_date name new_name " +
		"display_name file_content caption notes instructions settings config updates changes patch fields_to_update " +
		"first_name last_name password",
	code:      "sql command cmd code script expression statement statements commands shell args program source_code js_command",
	address:   "url uri urls endpoint host hostname domain link href website base_url target_url web_url site",
	recipient: "to recipient recipients cc bcc email emails to_email chat_id channel channel_id phone phone_number to_number",
	output: "output_path output_dir output_file outputpath file_path filepath save_path download_path local_path save_to " +
		"destination output_directory out_dir dest destination_path save_dir output target_path outfile extract_to",
	keeping: "overwrite overwrite_existing force_overwrite allow_overwrite if_exists create_dirs create_directories " +
		"create_parents create_parent_dirs mkdirs",
	callback:  "notification_url callback_url webhook_url webhook callback async notify_url reply_to_url",
	assent:    "confirm confirmed confirmation cascade permanent permanently hard_delete skip_trash i_understand acknowledge_risk",
	rehearsal: "dry_run dryrun preview validate_only simulate what_if check_only plan_only",
	money:     "amount price quantity currency cents total shares",
})

func makeRoles(table map[role]string) map[string]role {
	byName := map[string]role{}
	for r, names := range table {
		for name := range wordSet(names) {
			byName[name] = r
		}
	}
	return byName
}
