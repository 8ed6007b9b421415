package find_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/find"
)

// office is a catalogue of our own making, for the figures that must hold where
// the corpus is not at hand: server/name, what it does, its class.
const office = `
mail/send_mail | Send a message to one or more people. | d
mail/search_mail | Search messages by sender, subject or text. | r
mail/read_mail | Read one message with its attachments. | r
mail/mark_read | Mark messages as read. | w
mail/move_mail | Move messages to another folder. | w
mail/save_draft | Save a draft without sending it. | w
mail/delete_mail | Delete messages for good. | d
calendar/listEvents | Events of a calendar between two days. | r
calendar/createEvent | Put an event into a calendar and invite people. | w
calendar/deleteEvent | Remove an event and tell the guests. | d
calendar/freeTimes | Times at which all given people are free. | r
files/read-file | Read a text file. | r
files/write-file | Write a text file, replacing what is there. | d
files/list-folder | List what is in a folder. | r
files/move-file | Move or rename a file. | d
files/search-files | Find files whose name or text has a word. | r
files/delete-file | Delete a file. | d
code_git_commit | Record the staged changes. | w
code_git_push | Send commits to the remote. | d
code_git_log | Show the history of commits. | r
code_git_diff | Show changes that are not recorded yet. | r
code_open_pull_request | Open a pull request. | w
code_merge_pull_request | Merge a pull request. | d
code_list_issues | List the issues of a repository. | r
code_create_issue | Create an issue. | w
code_comment_issue | Add a comment to an issue. | w
shop/customers_list | List customers by name or status. | r
shop/customers_get | One customer with address and orders. | r
shop/customers_create | Add a customer. | w
shop/customers_delete | Delete a customer and all records. | d
shop/orders_search | Search orders by customer, day or status. | r
shop/order_cancel | Cancel an order that is not shipped. | d
shop/order_refund | Pay back an order. | d
shop/invoice_create_draft | Prepare an invoice without sending it. | w
shop/invoice_send | Send an invoice to the customer. | d
ops/deploy_service | Deploy a version of a service. | d
ops/rollback_service | Go back to the version before. | d
ops/service_logs | Read the log of a service. | r
ops/restart_service | Restart a service. | d
ops/list_alerts | List alerts that are firing. | r
ops/acknowledge_alert | Say that somebody looks after an alert. | w
data/run_query | Run a SQL query that only reads. | r
data/list_tables | List the tables of the database. | r
data/describe_table | Columns and types of a table. | r
web/search_web | Search the web. | r
web/fetch_page | Fetch a web page as text. | r
web/take_screenshot | Take a picture of a web page. | r
maps/geocode | Coordinates of an address. | r
maps/directions | The way from one place to another by car, foot or train. | r
maps/weather | Weather and forecast for a place. | r
`

// asked are questions about the office and what answers them.
const asked = `
email the report to Anna | send_mail
find the message Bob wrote about the contract | search_mail
delete this mail | delete_mail
put the message into the archive folder | move_mail
write a draft for later | save_draft
what is on my calendar on Monday | listEvents
schedule a meeting with the team | createEvent
cancel the meeting | deleteEvent
when are we all free | freeTimes
show me what is in the folder | list-folder
which files contain the word budget | search-files
rename the file | move-file
open the text file and read it | read-file
remove the file | delete-file
commit my changes | code_git_commit
push to the remote | code_git_push
show the commit history | code_git_log
merge the PR | code_merge_pull_request
open a new pull request | code_open_pull_request
file a bug | code_create_issue
reply on the issue | code_comment_issue
which issues are open | code_list_issues
add a new client | customers_create
look up a customer's address | customers_get
delete a customer | customers_delete
orders of last week | orders_search
cancel order 4711 | order_cancel
refund the order | order_refund
prepare an invoice | invoice_create_draft
send the bill to the customer | invoice_send
deploy the new version | deploy_service
roll back the service | rollback_service
what do the logs of the service say | service_logs
restart it, the service hangs | restart_service
which alerts are firing | list_alerts
run SQL against the database | run_query
what tables are there | list_tables
columns of the orders table | describe_table
search the internet for opening hours | search_web
screenshot of the home page | take_screenshot
how do I get from Bern to Basel by train | directions
is it going to rain, what is the forecast | weather
`

func TestOffice(t *testing.T) {
	var tools []annotary.Entry
	for line := range strings.Lines(strings.TrimSpace(office)) {
		part := strings.Split(strings.TrimSpace(line), " | ")
		server, name, ok := strings.Cut(part[0], "/")
		if !ok {
			server, name = "code", part[0]
		}
		tools = append(tools, tool(server, name, part[1], part[2]))
	}
	x := find.New(tools)
	questions, first, five := 0, 0, 0
	for line := range strings.Lines(strings.TrimSpace(asked)) {
		text, want, _ := strings.Cut(strings.TrimSpace(line), " | ")
		got := names(x.Search(find.Query{Text: text, Max: 5}).Hits)
		questions++
		switch slices.Index(got, want) {
		case 0:
			first++
			five++
		case -1:
			t.Logf("missed: %s: %q", text, got)
		default:
			t.Logf("not first: %s: %q", text, got)
			five++
		}
	}
	t.Logf("%d questions, %d first, %d among five", questions, first, five)
	if float64(first) < 0.75*float64(questions) || float64(five) < 0.85*float64(questions) {
		t.Errorf("want three quarters first and 0.85 among five")
	}
}
