// A real issuer for tests: the npm package oidc-provider on a port of its own.
//
//   node issuer.mjs PATH-OF-OIDC-PROVIDER
//
// prints its address on the first line. Whoever comes is logged in as "ann" and
// gets what was asked for. Two doors no issuer should have are for tests only:
// POST /test/sign signs any claims with the issuer's real key, POST /test/rotate
// gives it another one.
import { createServer } from 'node:http';
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { pathToFileURL } from 'node:url';

const { default: Provider } = await import(pathToFileURL(process.argv[2]));

let key, issuer, provider, callback;

function newKey() {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwk = privateKey.export({ format: 'jwk' });
  const kid = createHash('sha256').update(jwk.n).digest('base64url').slice(0, 16);
  key = { privateKey, jwk: { ...jwk, kid, use: 'sig', alg: 'RS256' } };
}

function newProvider() {
  provider = new Provider(issuer, {
    jwks: { keys: [key.jwk] },
    cookies: { keys: ['only for tests'] },
    clients: [
      {
        client_id: 'host',
        token_endpoint_auth_method: 'none',
        application_type: 'native',
        redirect_uris: ['http://127.0.0.1/callback'],
        grant_types: ['authorization_code'],
        response_types: ['code'],
      },
      {
        client_id: 'page',
        client_secret: 'only for tests',
        application_type: 'native',
        redirect_uris: ['http://127.0.0.1/login/callback'],
        grant_types: ['authorization_code'],
        response_types: ['code'],
      },
      {
        client_id: 'robot',
        client_secret: 'only for tests',
        redirect_uris: [],
        grant_types: ['client_credentials'],
        response_types: [],
      },
    ],
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, groups: ['writers'] }) }),
    claims: { openid: ['sub'], groups: ['groups'] },
    conformIdTokenClaims: false,
    extraTokenClaims: () => ({ groups: ['writers'] }),
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_, resource) => ({
          scope: 'notes:read notes:write',
          audience: resource,
          accessTokenTTL: 600,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
  });
  callback = provider.callback();
}

// interact logs whoever comes in as ann, then agrees to everything.
async function interact(req, res) {
  const { prompt, params, session, grantId } = await provider.interactionDetails(req, res);
  if (prompt.name === 'login') {
    return provider.interactionFinished(req, res, { login: { accountId: 'ann' } });
  }
  const grant = (grantId && (await provider.Grant.find(grantId)))
    || new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  for (const [resource, scopes] of Object.entries(prompt.details.missingResourceScopes ?? {})) {
    grant.addResourceScope(resource, scopes.join(' '));
  }
  if (prompt.details.missingOIDCScope) grant.addOIDCScope(prompt.details.missingOIDCScope.join(' '));
  return provider.interactionFinished(req, res, { consent: { grantId: await grant.save() } });
}

function jwt({ header, claims }) {
  const part = (v) => Buffer.from(JSON.stringify(v)).toString('base64url');
  const signed = `${part({ alg: 'RS256', kid: key.jwk.kid, typ: 'at+jwt', ...header })}.${part({ iss: issuer, ...claims })}`;
  return `${signed}.${sign('sha256', Buffer.from(signed), key.privateKey).toString('base64url')}`;
}

async function body(req) {
  let text = '';
  for await (const chunk of req) text += chunk;
  return text;
}

const server = createServer(async (req, res) => {
  try {
    if (req.url === '/test/sign') return res.end(jwt(JSON.parse(await body(req))));
    if (req.url === '/test/rotate') {
      newKey();
      newProvider();
      return res.end();
    }
    if (req.url.startsWith('/interaction/')) return await interact(req, res);
    return await callback(req, res);
  } catch (err) {
    res.statusCode = 500;
    return res.end(String(err));
  }
});
server.listen(0, '127.0.0.1', () => {
  issuer = `http://127.0.0.1:${server.address().port}`;
  newKey();
  newProvider();
  console.log(issuer);
});
