/* page.js — looks the claims of the embedded bundle up again, in the reader's own browser.
 *
 * Bytes are hashed as they are in the bundle; numbers keep every digit (BigInt), because times reach 2^62.
 * Types of claims that are not judged here are said to be so: merkhet verify judges all of them. */
'use strict';
(function () {
  /* ---- SHA-256 (FIPS 180-4). crypto.subtle is not there on pages opened from a file. ---- */

  const K = (function () {
    const out = [];
    for (let n = 2; out.length < 64; n++) {
      let prime = true;
      for (let d = 2; d * d <= n; d++) if (n % d === 0) { prime = false; break; }
      if (!prime) continue;
      const root = Math.cbrt(n);
      out.push(((root - Math.floor(root)) * 4294967296) | 0);
    }
    return out;
  })();

  function sha256(bytes) {
    const h = [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];
    const padded = new Uint8Array(((bytes.length + 8) >> 6) * 64 + 64);
    padded.set(bytes);
    padded[bytes.length] = 0x80;
    const view = new DataView(padded.buffer);
    view.setUint32(padded.length - 8, Math.floor(bytes.length / 536870912));
    view.setUint32(padded.length - 4, (bytes.length << 3) >>> 0);
    const w = new Int32Array(64);
    const rotate = (x, n) => (x >>> n) | (x << (32 - n));
    for (let at = 0; at < padded.length; at += 64) {
      for (let i = 0; i < 16; i++) w[i] = view.getInt32(at + 4 * i);
      for (let i = 16; i < 64; i++) {
        const s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ (w[i - 15] >>> 3);
        const s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ (w[i - 2] >>> 10);
        w[i] = (w[i - 16] + s0 + w[i - 7] + s1) | 0;
      }
      let [a, b, c, d, e, f, g, k] = h;
      for (let i = 0; i < 64; i++) {
        const t1 = (k + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + K[i] + w[i]) | 0;
        const t2 = ((rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
        k = g; g = f; f = e; e = (d + t1) | 0; d = c; c = b; b = a; a = (t1 + t2) | 0;
      }
      [a, b, c, d, e, f, g, k].forEach((v, i) => { h[i] = (h[i] + v) | 0; });
    }
    return h.map((v) => (v >>> 0).toString(16).padStart(8, '0')).join('');
  }

  const utf8 = (text) => new TextEncoder().encode(text);

  /* ---- JSON that keeps integers whole, and where each member of the outer objects stands ---- */

  function parse(text) {
    const token = /\s*(?:([{}[\]:,])|("(?:[^"\\]|\\.)*")|(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)|(true|false|null))/y;
    let start = 0;
    function next() {
      token.lastIndex = start;
      const m = token.exec(text);
      if (m === null) throw new SyntaxError('not JSON at ' + start);
      start = token.lastIndex;
      return m;
    }
    function finish(m, depth) {
      if (m[2] !== undefined) return JSON.parse(m[2]);
      if (m[3] !== undefined) return /^-?\d+$/.test(m[3]) ? BigInt(m[3]) : Number(m[3]);
      if (m[4] !== undefined) return m[4] === 'null' ? null : m[4] === 'true';
      if (depth > 128) throw new SyntaxError('too deep');
      return m[1] === '[' ? list(depth) : members(depth);
    }
    function list(depth) {
      const out = [];
      let m = next();
      while (m[1] !== ']') {
        out.push(finish(m, depth + 1));
        m = next();
        if (m[1] === ',') m = next();
      }
      return out;
    }
    function members(depth) {
      const out = new Map();
      out.slices = new Map();
      let m = next();
      while (m[1] !== '}') {
        const key = JSON.parse(m[2]);
        next();
        const from = start;
        out.set(key, finish(next(), depth + 1));
        out.slices.set(key, [from, start]);
        m = next();
        if (m[1] === ',') m = next();
      }
      return out;
    }
    return finish(next(), 0);
  }

  function show(value) {
    if (value instanceof Map) return '{' + [...value].map(([k, v]) => JSON.stringify(k) + ':' + show(v)).join(',') + '}';
    if (Array.isArray(value)) return '[' + (value.length > 6 ? value.slice(0, 6).map(show).join(',') + ',… ' + value.length + ' in all' : value.map(show).join(',')) + ']';
    return typeof value === 'bigint' ? String(value) : JSON.stringify(value) ?? 'nothing';
  }

  const same = (a, b) => show2(a) === show2(b);
  const show2 = (v) => v instanceof Map ? '{' + [...v.keys()].sort().map((k) => k + ':' + show2(v.get(k))).join() + '}'
    : Array.isArray(v) ? '[' + v.map(show2).join() + ']' : typeof v + ':' + String(v);
  const isNumber = (v) => typeof v === 'bigint' || typeof v === 'number';
  const equal = (a, b) => isNumber(a) && isNumber(b)
    ? (typeof a === typeof b ? a === b : Math.abs(Number(a) - Number(b)) <= 1e-9) : same(a, b);

  /* ---- evidence ---- */

  /* Every object under its digest as text, and what does not hash to its name. */
  function read(text) {
    const bundle = parse(text);
    const steps = new Map(), faults = new Map();
    const slice = (map, key) => text.slice(...map.slices.get(key));
    for (const kind of ['calls', 'payloads'])
      for (const name of bundle.get(kind).keys())
        if (sha256(utf8(slice(bundle.get(kind), name))) !== name)
          faults.set(name, kind + '.' + name.slice(0, 12) + '… does not hash to its name');
    for (const part of ['plan', 'answer', 'report'])
      if (bundle.get('digests').get(part) !== sha256(utf8(slice(bundle, part))))
        faults.set(part, part + ' does not hash to its digest');
    for (const step of bundle.get('trace').get('steps')) steps.set(step.get('step_id'), step);
    return { bundle, steps, faults };
  }

  class Missing extends Error {}

  /* The value at "s1.rows[0].uid", and why it is not complete. */
  function resolve(evidence, path) {
    const at = /^(s\d+)((?:\.[A-Za-z_]\w*(?:\[(?:\d+|\*)\])?)+)$/.exec(path);
    const step = at && evidence.steps.get(at[1]);
    if (!step) throw new Missing(path + ' leads to no step');
    const name = step.get('result_digest');
    if (evidence.faults.has(name)) throw new Missing(evidence.faults.get(name));
    let values = [evidence.bundle.get('payloads').get(name)], many = false;
    const parts = [...at[2].matchAll(/\.(\w+)(?:\[(\d+|\*)\])?/g)];
    for (const [, field, index] of parts) {
      values = values.map((v) => (v instanceof Map ? v.get(field) : undefined));
      if (index === '*') { many = true; values = values.flat(); }
      else if (index !== undefined) values = values.map((v) => v?.[Number(index)]);
      if (values.includes(undefined)) throw new Missing(path + ' is not in the result');
    }
    const gaps = step.get('completeness')?.get(parts[0][1]) ?? [];
    return { value: many ? values : values[0], gaps };
  }

  const names = (list) => list.map((v) => (v instanceof Map ? v.get('uid') ?? v.get('src') : v));
  const bounds = (v) => [v.get('start') ?? v.get('t_a') ?? v.get('t'), v.get('end') ?? v.get('t_b')];
  const compare = { '<': (a, b) => a < b, '<=': (a, b) => a <= b, '>': (a, b) => a > b, '>=': (a, b) => a >= b,
    '=': equal, '==': equal, '!=': (a, b) => !equal(a, b), eq: equal, ne: (a, b) => !equal(a, b),
    lt: (a, b) => a < b, le: (a, b) => a <= b, gt: (a, b) => a > b, ge: (a, b) => a >= b };

  /* Each gives [whether it holds, what the evidence says]; its gaps are added to `gaps`. */
  const judges = {
    value(claim, look) {
      let found = look(claim.get('from'));
      if (Array.isArray(found) && isNumber(claim.get('value'))) found = BigInt(found.length);
      return [equal(claim.get('value'), found), found];
    },
    set_equal(claim, look) {
      const found = [...new Set(names(look(claim.get('from'))))].sort(), said = [...new Set(claim.get('uids'))].sort();
      return [same(found, said), found];
    },
    entity(claim, look) {
      const found = look(claim.get('from')), all = new Set(names(Array.isArray(found) ? found : [found]));
      return [claim.get('uids').every((uid) => all.has(uid)), [...all]];
    },
    interval(claim, look) {
      const found = look(claim.get('from'));
      return [found instanceof Map && same(bounds(claim.get('interval')), bounds(found)), found];
    },
    lower_bound(claim, look) {
      const found = look(claim.get('from')), n = Array.isArray(found) ? BigInt(found.length) : found;
      return [n >= claim.get('value'), n];
    },
    upper_bound(claim, look) {
      const found = look(claim.get('from')), n = Array.isArray(found) ? BigInt(found.length) : found;
      return [n <= claim.get('value'), n];
    },
    comparison(claim, look) {
      const side = (v) => (isNumber(v) ? v : look(v));
      const left = side(claim.get('left')), right = side(claim.get('right')), judge = compare[claim.get('cmp')];
      return [judge !== undefined && judge(left, right), [left, right]];
    },
    ratio(claim, look) {
      const found = Number(look(claim.get('num'))) / Number(look(claim.get('den')));
      return [Math.abs(found - Number(claim.get('value'))) <= 1e-9, found];
    },
  };
  judges.count = judges.boolean = judges.value;

  function judge(claim, evidence) {
    const rule = judges[claim.get('type')];
    if (rule === undefined) return ['unknown', 'claims of this type are judged by merkhet verify'];
    const gaps = [];
    const look = (path) => {
      const found = resolve(evidence, path);
      gaps.push(...found.gaps);
      return found.value;
    };
    try {
      const [holds, found] = rule(claim, look);
      if (!holds) return ['unsupported', 'the evidence says ' + show(found)];
      if (gaps.length !== 0) return ['weakly_supported', 'it matches, but the evidence is not complete: ' + show(gaps)];
      return ['supported', 'the evidence says the same: ' + show(found)];
    } catch (e) {
      return ['unverifiable', e instanceof Missing ? e.message : 'the claim cannot be read'];
    }
  }

  /* ---- tampering ---- */

  function falsify(claim) {
    for (const key of ['value', 'interval', 'uids']) {
      const old = claim.get(key);
      if (old === undefined || old === null) continue;
      let made;
      if (typeof old === 'bigint') made = old + 1n;
      else if (typeof old === 'number') made = old + 1;
      else if (typeof old === 'boolean') made = !old;
      else if (typeof old === 'string') made = old + '?';
      else if (Array.isArray(old)) made = old.length > 1 ? old.slice(1) : [...old, 'nobody'];
      else {
        made = new Map(old);
        for (const [k, v] of old) if (typeof v === 'bigint') made.set(k, v + 3600000000n);
      }
      claim.set(key, made);
      return key + ' from ' + show(old) + ' to ' + show(made);
    }
    return null;
  }

  /* One digit of the payload that the first claim rests on, inside the text itself. */
  function damage(text, evidence, claims) {
    for (const claim of claims) {
      const step = evidence.steps.get(String(claim.get('from') ?? claim.get('left') ?? claim.get('num') ?? '').split('.')[0]);
      const place = step && evidence.bundle.get('payloads').slices.get(step.get('result_digest'));
      if (!place) continue;
      const inside = text.slice(...place), at = inside.search(/\d/);
      if (at < 0) continue;
      const digit = inside[at] === '7' ? '8' : '7';
      return [text.slice(0, place[0] + at) + digit + text.slice(place[0] + at + 1),
        'a digit in the result of ' + step.get('step_id') + ' from ' + inside[at] + ' to ' + digit];
    }
    return null;
  }

  /* Node reads this file too: the tests judge with the same rules. */
  if (typeof document === 'undefined') {
    module.exports = { sha256, utf8, parse, read, judge, falsify, damage };
    return;
  }

  /* ---- the page ---- */

  const $ = (id) => document.getElementById(id);
  const raw = Uint8Array.from(atob($('bundle').textContent), (c) => c.charCodeAt(0));
  const original = new TextDecoder().decode(raw);
  let text = original, changes = [], pick = 0, claims = read(text).bundle.get('answer').get('claims');

  function line(kind, words) {
    const p = document.createElement('p');
    p.className = kind;
    p.textContent = words;
    $('verdicts').append(p);
  }

  function check() {
    const evidence = read(text);
    $('verdicts').replaceChildren();
    for (const change of changes) line('changed', 'Changed: ' + change + '.');
    for (const fault of evidence.faults.values()) line('verdict-bad', 'Caught: ' + fault + '.');
    for (const claim of claims) {
      const [verdict, why] = judge(claim, evidence), good = verdict === 'supported';
      const caught = changes.length !== 0 && (verdict === 'unsupported' || verdict === 'unverifiable');
      line(good ? 'verdict-good' : verdict === 'unknown' || verdict === 'weakly_supported' ? 'changed' : 'verdict-bad',
        (caught ? 'Caught: ' : '') + claim.get('id') + ' is ' + verdict.replace('_', ' ') + ': ' + why + '.');
    }
    if (evidence.faults.size === 0 && changes.length === 0)
      line('verdict-good', 'Every call and every result hashes to its name.');
  }

  function restore() {
    text = original;
    changes = [];
    claims = read(text).bundle.get('answer').get('claims');
    check();
  }

  function tamperAnswer() {
    for (let tries = 0; tries < claims.length; tries++) {
      const claim = claims[pick++ % claims.length], what = falsify(claim);
      if (what === null) continue;
      changes.push('in claim ' + claim.get('id') + ', ' + what);
      break;
    }
    check();
  }

  function tamperEvidence() {
    const made = damage(text, read(text), claims);
    if (made !== null) {
      text = made[0];
      changes.push(made[1]);
    }
    check();
  }

  function save() {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([raw], { type: 'application/json' }));
    link.download = 'answer.bundle.json';
    link.click();
    URL.revokeObjectURL(link.href);
  }

  $('check').hidden = false;
  $('verify').addEventListener('click', check);
  $('tamper-answer').addEventListener('click', tamperAnswer);
  $('tamper-evidence').addEventListener('click', tamperEvidence);
  $('restore').addEventListener('click', restore);
  $('save').addEventListener('click', save);
  check();
})();
