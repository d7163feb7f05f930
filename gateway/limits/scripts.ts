// What is done in the store? As meter.ts, own-memory.ts and budget.ts do it, in the same order of operations, so that the same doubles come
// out. Each script is one atomic call by the server's own time. Keys come in pairs: the levels of a subject, a hash of `<meter>.used`,
// `<meter>.at` and `<meter>.limit`, and its places, a sorted set of reservations by the end of their lease. Behind them those of budgets, likewise: a hash of
// what is `spent`, what is `held`, and `of.<reservation>`, and the same places. Last comes for each budget what each process has spent that
// the ledger has not told it of, and the highest sum that the `ledger` has told to one of them, as `<nanodollars> <time>`: both are written
// in one step, so that nothing that one process has heard of is missing in what another is judged by.

import { owedMax } from './meter.ts';
import { leaseMs } from './reservation.ts';

/** Levels are kept until everything that can be owed has run out, and a minute more. */
const keepMs = (1 + owedMax + 1) * 60_000;

/** Of budgets nothing is needed when their period is over; those of all time come back from the ledger where nobody spent in so long. */
const budgetKeepMs = { afterEnd: 24 * 3_600_000, ofAllTime: 400 * 24 * 3_600_000 } as const;

const common = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function exact(number) return string.format('%.17g', number) end
local function usedAt(levels, meter)
  local name = meter.name
  local stored = redis.call('HMGET', levels, name .. '.used', name .. '.at', name .. '.limit')
  local used, at = tonumber(stored[1]), tonumber(stored[2])
  if not used or not at then return 0 end
  -- The version before did not say of which limit.
  local limit = tonumber(stored[3]) or meter.limit
  used = used * math.min(1, meter.limit / limit)
  return math.max(0, used - math.max(0, now - at) * meter.leakPerMs)
end
local function meterAt(levels, meter)
  local limit = tonumber(redis.call('HGET', levels, meter.name .. '.limit'))
  if not limit then return meter end
  local times = limit / meter.limit
  return {
    name = meter.name,
    limit = limit,
    capacity = meter.capacity * times,
    leakPerMs = meter.leakPerMs * times,
    amount = meter.amount * math.min(1, times),
  }
end
local function keep(levels, meter, used)
  local name = meter.name
  redis.call('HSET', levels, name .. '.used', exact(used), name .. '.at', exact(now), name .. '.limit', exact(meter.limit))
  redis.call('PEXPIRE', levels, ${keepMs})
end
local function budgetAt(levels, places)
  local held = tonumber(redis.call('HGET', levels, 'held')) or 0
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', places, '-inf', exact(now))) do
    held = held - (tonumber(redis.call('HGET', levels, 'of.' .. id)) or 0)
    redis.call('HDEL', levels, 'of.' .. id)
    redis.call('ZREM', places, id)
  end
  if redis.call('ZCARD', places) == 0 then held = 0 end
  return tonumber(redis.call('HGET', levels, 'spent')) or 0, math.max(0, held)
end
local function reckonedAt(key, by, ownSpent, told)
  local known, sum = told, 0
  redis.call('HSET', key, by, exact(ownSpent) .. ' ' .. exact(now))
  local all = redis.call('HGETALL', key)
  for i = 1, #all, 2 do
    local number, at = string.match(all[i + 1], '(%S+) (%S+)')
    if all[i] == 'ledger' then known = math.max(known, tonumber(number))
    -- Of a process that has been silent for so long the ledger has told.
    elseif now - tonumber(at) > ${leaseMs} then redis.call('HDEL', key, all[i])
    else sum = sum + tonumber(number) end
  end
  redis.call('HSET', key, 'ledger', exact(known) .. ' ' .. exact(now))
  redis.call('PEXPIRE', key, ${leaseMs})
  return known, known + sum
end
local function keepBudget(levels, places, budget, spent, held)
  redis.call('HSET', levels, 'spent', exact(spent), 'held', exact(held))
  local ms = ${budgetKeepMs.ofAllTime}
  if budget.endMs then ms = math.max(0, budget.endMs - now) + ${budgetKeepMs.afterEnd} end
  redis.call('PEXPIRE', levels, exact(math.floor(ms)))
  -- As long: whose lease is over is found there, and what it held goes with it.
  redis.call('PEXPIRE', places, exact(math.floor(ms)))
end
`;

/**
 * ARGV: the reservation as JSON. Gives `granted`, `now`, then for each claim `held` and what each meter had used, then for each budget what
 * was spent and held, and what the ledger and all that it has not told of come to.
 */
export const reserveScript = `${common}
local ask = cjson.decode(ARGV[1])
local granted = 1
local used = {}
local answer = { '', exact(now) }
for i, claim in ipairs(ask.claims) do
  local levels, places = KEYS[2 * i - 1], KEYS[2 * i]
  redis.call('ZREMRANGEBYSCORE', places, '-inf', exact(now))
  local held = redis.call('ZCARD', places)
  if claim.placesMax and held >= claim.placesMax then granted = 0 end
  answer[#answer + 1] = exact(held)
  used[i] = {}
  for j, meter in ipairs(claim.meters) do
    local before = usedAt(levels, meter)
    local lack = before + math.min(meter.amount, meter.capacity) - meter.capacity
    if lack > 1e-6 then granted = 0 end
    used[i][j] = before
    answer[#answer + 1] = exact(before)
  end
end
local spentOf, heldOf = {}, {}
for i, budget in ipairs(ask.budgets or {}) do
  local at = #ask.claims + i
  local spent, held = budgetAt(KEYS[2 * at - 1], KEYS[2 * at])
  local known, reckoned =
    reckonedAt(KEYS[2 * (#ask.claims + #ask.budgets) + i], ask.by, budget.own.spent, budget.known)
  spent = math.max(spent, known)
  local judged = math.max(spent, reckoned)
  local others = math.max(held, budget.own.held)
  if judged >= budget.limit then granted = 0 end
  if others > 0 and judged + others + budget.amount > budget.limit then granted = 0 end
  spentOf[i], heldOf[i] = spent, held
  answer[#answer + 1] = exact(spent)
  answer[#answer + 1] = exact(held)
  answer[#answer + 1] = exact(reckoned)
end
if granted == 1 then
  for i, budget in ipairs(ask.budgets or {}) do
    local at = #ask.claims + i
    local levels, places = KEYS[2 * at - 1], KEYS[2 * at]
    redis.call('ZADD', places, exact(now + ${leaseMs}), ask.id)
    local hold = budget.hold or budget.amount
    redis.call('HSET', levels, 'of.' .. ask.id, exact(hold))
    keepBudget(levels, places, budget, spentOf[i], heldOf[i] + hold)
  end
  for i, claim in ipairs(ask.claims) do
    local levels, places = KEYS[2 * i - 1], KEYS[2 * i]
    for j, meter in ipairs(claim.meters) do keep(levels, meter, used[i][j] + meter.amount) end
    if ask.id then
      redis.call('ZADD', places, exact(now + ${leaseMs}), ask.id)
      redis.call('PEXPIRE', places, ${leaseMs})
    end
  end
end
answer[1] = exact(granted)
return answer
`;

/** ARGV: a reservation as JSON. Gives what `reserve` would, but for whether it is granted; nothing is written. */
export const lookScript = `${common}
local ask = cjson.decode(ARGV[1])
local answer = { '0', exact(now) }
for i, claim in ipairs(ask.claims) do
  answer[#answer + 1] = exact(redis.call('ZCOUNT', KEYS[2 * i], '(' .. exact(now), '+inf'))
  for j, meter in ipairs(claim.meters) do answer[#answer + 1] = exact(usedAt(KEYS[2 * i - 1], meter)) end
end
for i, budget in ipairs(ask.budgets or {}) do
  local at = #ask.claims + i
  local levels, places = KEYS[2 * at - 1], KEYS[2 * at]
  local held = 0
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', places, '(' .. exact(now), '+inf')) do
    held = held + (tonumber(redis.call('HGET', levels, 'of.' .. id)) or 0)
  end
  local known, sum = budget.known, budget.own.spent
  local all = redis.call('HGETALL', KEYS[2 * (#ask.claims + #ask.budgets) + i])
  for j = 1, #all, 2 do
    local number, heardAt = string.match(all[j + 1], '(%S+) (%S+)')
    if all[j] == 'ledger' then known = math.max(known, tonumber(number))
    elseif all[j] ~= ask.by and now - tonumber(heardAt) <= ${leaseMs} then sum = sum + tonumber(number) end
  end
  local spent = math.max(tonumber(redis.call('HGET', levels, 'spent')) or 0, known)
  answer[#answer + 1] = exact(spent)
  answer[#answer + 1] = exact(held)
  answer[#answer + 1] = exact(known + sum)
end
return answer
`;

/** ARGV: the settlement as JSON. Gives \`now\`. */
export const settleScript = `${common}
local ask = cjson.decode(ARGV[1])
for i, claim in ipairs(ask.claims) do
  local levels, places = KEYS[2 * i - 1], KEYS[2 * i]
  redis.call('ZREMRANGEBYSCORE', places, '-inf', exact(now))
  if redis.call('ZREM', places, ask.id) == 1 then
    for j, given in ipairs(claim.meters) do
      local meter = meterAt(levels, given)
      local used = usedAt(levels, meter)
      if meter.amount <= 0 then
        used = math.max(0, used + meter.amount)
      else
        used = math.max(used, math.min(used + meter.amount, meter.capacity * ${1 + owedMax}))
      end
      keep(levels, meter, used)
    end
  end
end
for i, budget in ipairs(ask.budgets or {}) do
  local at = #ask.claims + i
  local levels, places = KEYS[2 * at - 1], KEYS[2 * at]
  if budget.told then
    reckonedAt(KEYS[2 * (#ask.claims + #ask.budgets) + i], ask.by, budget.told.ownSpent, budget.told.known)
  end
  local spent, held = budgetAt(levels, places)
  if redis.call('ZREM', places, ask.id) == 1 then
    local amount = tonumber(redis.call('HGET', levels, 'of.' .. ask.id)) or 0
    redis.call('HDEL', levels, 'of.' .. ask.id)
    keepBudget(levels, places, budget, spent + budget.cost, math.max(0, held - amount))
  end
end
return exact(now)
`;

/** KEYS: places; ARGV: one reservation for each. Gives \`now\`. */
export const renewScript = `${common}
for i, places in ipairs(KEYS) do
  redis.call('ZADD', places, exact(now + ${leaseMs}), ARGV[i])
  if redis.call('PTTL', places) < ${leaseMs} then redis.call('PEXPIRE', places, ${leaseMs}) end
end
return exact(now)
`;
