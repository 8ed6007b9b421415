// A browser that a test drives: one command as JSON on a line in, one answer out.
//
//   node browser.mjs PATH-OF-PLAYWRIGHT-CORE CHROMIUM
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const { default: playwright } = await import(pathToFileURL(process.argv[2]));
const browser = await playwright.chromium.launch({ executablePath: process.argv[3], args: ['--no-sandbox', '--disable-gpu'] });
let page, alerts;

const commands = {
  // a new person, who has no cookies
  async open() {
    const context = await browser.newContext();
    page = await context.newPage();
    alerts = 0;
    page.on('dialog', async (d) => { alerts += 1; await d.dismiss(); });
  },
  async goto({ url }) {
    const res = await page.goto(url);
    return { status: res ? res.status() : 0 };
  },
  async press({ key }) { await page.keyboard.press(key); },
  async type({ text }) { await page.keyboard.type(text); },
  async click({ text }) { await page.getByRole('button', { name: text }).click(); },
  // tab goes on with the Tab key until the thing of that text or value has the focus
  async tab({ to }) {
    for (let i = 0; i < 100; i += 1) {
      await page.keyboard.press('Tab');
      const at = await page.evaluate(() => {
        const e = document.activeElement;
        return e.tagName === 'BUTTON' || e.tagName === 'A' ? e.textContent.trim() : e.value;
      });
      if (at === to) return { tabs: i + 1 };
    }
    throw new Error(`nothing called ${to} can be reached by keyboard`);
  },
  async wait({ text }) { await page.getByText(text).first().waitFor({ timeout: 30000 }); },
  async shot({ path, width, scheme }) {
    await page.setViewportSize({ width, height: width < 600 ? 844 : 900 });
    await page.emulateMedia({ colorScheme: scheme });
    await page.screenshot({ path, fullPage: true });
    return { overflow: await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth) };
  },
  // frames counts the frames that show anything
  async frames() {
    const shown = [];
    for (const f of page.frames().slice(1)) shown.push(await f.evaluate(() => document.body.innerText).catch(() => ''));
    return { frames: shown };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { op, ...args } = JSON.parse(line);
  let out;
  try {
    out = (await commands[op](args)) ?? {};
    // A key may have led elsewhere: only what has arrived is read.
    if (['goto', 'wait'].includes(op)) out.text = await page.evaluate(() => document.body?.innerText ?? '');
    if (page) Object.assign(out, { url: page.url(), alerts });
  } catch (err) {
    out = { error: String(err) };
  }
  console.log(JSON.stringify(out));
}
await browser.close();
