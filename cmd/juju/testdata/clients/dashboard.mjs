// Uses Juju's dashboard, as published and built, in a browser: logs in, looks at the pages, sets an option, runs an action.
//
//     node dashboard.mjs BUILD CHROMIUM HOST:PORT USER PICTURES <password
//
// BUILD is the directory with the built dashboard, PICTURES gets a picture of each page. It prints the requests that the
// controller refused, and fails if a page does not show what it should. The environment variable RECORD may name a file
// for the requests, in the form of apiserver/testdata/requests.
import fs from 'fs';
import http from 'http';
import path from 'path';
import { createRequire } from 'module';
const { chromium } = createRequire(path.join(process.env.PLAYWRIGHT, 'node_modules', 'x.js'))('playwright-core');

const [, , build, executablePath, api, user, pictures] = process.argv;
const password = fs.readFileSync(0, 'utf8').trim();
const types = { '.js': 'text/javascript', '.css': 'text/css', '.html': 'text/html', '.svg': 'image/svg+xml' };
const config = { controllerAPIEndpoint: `wss://${api}/api`, baseAppURL: '/', isJuju: true, analyticsEnabled: false };
const site = http.createServer((request, response) => {
  const name = new URL(request.url, 'http://site').pathname;
  if (name === '/config.js') {
    response.setHeader('content-type', types['.js']);
    response.end(`var jujuDashboardConfig = ${JSON.stringify(config)};`);
    return;
  }
  let file = path.join(build, name);
  if (!fs.existsSync(file) || fs.statSync(file).isDirectory()) file = path.join(build, 'index.html');
  response.setHeader('content-type', types[path.extname(file)] || 'application/octet-stream');
  response.end(fs.readFileSync(file));
});
await new Promise(done => site.listen(0, '127.0.0.1', done));

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', '--disable-quic',
  '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'] });
const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1400, height: 900 } });
const page = await context.newPage();
page.setDefaultTimeout(20000);
const refused = new Set();
const sent = new Set();
page.on('websocket', socket => {
  const asked = new Map();
  socket.on('framesent', ({ payload }) => {
    const m = JSON.parse(payload);
    if (m.commands) return; // to the command line's own socket
    const where = socket.url().includes('/model/') ? 'model' : 'controller';
    sent.add(`${where} ${m.type} ${m.version} ${m.request} ${JSON.stringify(m.params || {})}`);
    asked.set(m['request-id'], `${m.type}.${m.request} at version ${m.version}`);
  });
  socket.on('framereceived', ({ payload }) => {
    const m = JSON.parse(payload);
    if (m.error) refused.add(`${asked.get(m['request-id'])}: ${m.error}`);
  });
});
let n = 0;
const step = async (name, f) => {
  try {
    await f();
  } finally {
    await page.screenshot({ path: path.join(pictures, `${n++}-${name}.png`) });
  }
  console.log(`ok: ${name}`);
};
const button = name => page.getByRole('button', { name }).last();

try {
  await step('log in', async () => {
    await page.goto(`http://127.0.0.1:${site.address().port}`);
    await page.getByLabel('Username').fill(user);
    await page.getByLabel('Password').fill(password);
    await button(/log in/i).click();
    await page.getByRole('link', { name: 'default', exact: true }).waitFor();
  });
  await step('model', async () => {
    await page.getByRole('link', { name: 'default', exact: true }).click();
    await page.locator('td a', { hasText: /^db$/ }).waitFor();
  });
  await step('integrations', async () => {
    await page.getByText('Integrations', { exact: true }).click();
    await page.getByText('db:db').first().waitFor();
  });
  await step('machines', async () => {
    await page.getByText('Machines', { exact: true }).click();
    await page.locator('td', { hasText: /^0/ }).first().waitFor();
  });
  await step('service', async () => {
    await page.getByText('Applications', { exact: true }).click();
    await page.locator('td a', { hasText: /^app$/ }).click();
    await page.locator('td', { hasText: 'app/0' }).first().waitFor();
  });
  await step('option', async () => {
    await page.getByRole('button', { name: /configure/i }).click();
    await page.getByText('title', { exact: true }).click();
    await page.locator('textarea, input[type=text]').first().fill('from the dashboard');
    await button(/save/i).click();
    await button(/yes|confirm|save/i).click();
    // Once the value is stored the dashboard closes whichever panel is open, the next step's too.
    await page.waitForURL(url => !url.searchParams.has('panel'));
  });
  await step('action', async () => {
    await page.locator('tbody input[type=checkbox]').first().check({ force: true });
    await button(/run action/i).click();
    await page.getByText('hi', { exact: true }).click();
    await page.locator('input[name*=who]').fill('you');
    await button(/run action/i).click();
    await button(/confirm|yes/i).click();
    await page.locator('input[name*=who]').waitFor({ state: 'detached' });
  });
  await step('action logs', async () => {
    await page.getByRole('link', { name: 'Models', exact: true }).click();
    await page.getByRole('link', { name: 'default', exact: true }).click();
    await page.getByText('Action Logs', { exact: true }).click();
    await page.getByText('completed').first().waitFor();
    await page.getByText('saying hi').first().waitFor();
  });
  const command = async line => {
    await page.getByPlaceholder('enter command').fill(line);
    await page.keyboard.press('Enter');
  };
  await step('command line', async () => {
    await command('status');
    await page.locator('.webcli a', { hasText: /^db$/ }).first().waitFor(); // made of the table
    await command('config app title');
    await page.locator('.webcli').getByText('from the dashboard').waitFor();
    await command('ssh 0');
    await page.locator('.webcli').getByText('not supported when run via a controller').waitFor();
  });
  await step('access', async () => {
    await page.getByText('Manage access', { exact: true }).click();
    await page.getByRole('textbox', { name: 'Username' }).fill('bob');
    await page.locator('input[type=radio][value=write]').check({ force: true });
    await button(/^add user$/i).click();
    await page.getByText('bob', { exact: true }).first().waitFor();
    await page.keyboard.press('Escape');
  });
  await step('add a model', async () => {
    await page.getByRole('link', { name: 'Models', exact: true }).click();
    await button(/add model/i).click();
    await page.locator('input[name=modelName]').fill('fresh');
    await button(/^next$/i).click();
    await page.getByText('update-status-hook-interval').first().waitFor(); // of the schema
    await button(/^next$/i).click();
    await button(/^add model$/i).click();
    await page.getByRole('link', { name: 'fresh', exact: true }).waitFor();
  });
  await step('controllers', async () => {
    await page.getByRole('link', { name: 'Controllers' }).click();
    await page.getByText('Connected').waitFor();
  });
} finally {
  await browser.close();
  site.close();
  if (process.env.RECORD) fs.writeFileSync(process.env.RECORD, [...sent].join('\n') + '\n');
  for (const line of refused) console.log(`refused: ${line}`);
}
