// Which scripts run in the store? They compute as level.ts, seat.ts and budget.ts do, in the same order of operations, so that the same
// doubles result. One script runs many calls of one gateway, in order and independently, by the server's own clock. A subject
// has its levels, a hash of `<limit>.used`, `<limit>.at` and `<limit>.limit`, and its seats, a sorted set of reservations by the end of
// their lease. A budget has a hash of what is `spent`, what is `held`, and `of.<reservation>`, and such a sorted set. It also has a hash of
// what each process has spent since the ledger's last report, and the highest sum of the `ledger` that any process has read, as
// `<nanodollars> <time>`. One step writes both, so that a decision for one process includes all that another has reported.

import { RATES, rateNames } from '../../core/catalog/limits.ts';
import { owedMax } from './level.ts';
import { leaseMs } from './reservation.ts';

/** Levels are kept until everything that can be owed has run out, and a window more: a multiple of the longest window among the limits. */
const keptWindows = 1 + owedMax + 1;

/** A budget is not needed after its period. A total budget comes back from the ledger if it was unused for this long. */
const budgetKeepMs = { afterEnd: 24 * 3_600_000, ofAllTime: 400 * 24 * 3_600_000 } as const;

/**
 * KEYS and ARGV are read from the first to the last: of each call its name and the values that store.ts appends; what is not there is
 * empty. Gives a text of numbers for each.
 */
export const callsScript = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local keysRead, textsRead = 0, 0
local function nextKey()
  keysRead = keysRead + 1
  return KEYS[keysRead]
end
local function nextText()
  textsRead = textsRead + 1
  return ARGV[textsRead]
end
local function nextNumber() return tonumber(nextText()) end
local function nextList(read)
  local list = {}
  for i = 1, nextNumber() do list[i] = read() end
  return list
end
local function exact(number) return string.format('%.17g', number) end
local rateNames = { ${rateNames.map((name) => `'${name}'`).join(', ')} }
local windowsMs = { ${rateNames.map((name) => `['${name}'] = ${RATES[name].windowMs}`).join(', ')} }
local function nextAmounts()
  local amounts = {}
  for _, name in ipairs(rateNames) do amounts[name] = nextNumber() end
  return amounts
end
local function nextClaim()
  local claim = { levels = nextKey(), places = nextKey(), rates = {}, keepMs = 0 }
  for _, name in ipairs(rateNames) do
    local limit = nextNumber()
    if limit then
      table.insert(claim.rates, { name = name, limit = limit })
      claim.keepMs = math.max(claim.keepMs, windowsMs[name] * ${keptWindows})
    end
  end
  claim.placesMax = nextNumber()
  return claim
end
local function nextBudget()
  return {
    levels = nextKey(),
    places = nextKey(),
    unseen = nextKey(),
    limit = nextNumber(),
    known = nextNumber(),
    ownSpent = nextNumber(),
    ownHeld = nextNumber(),
    amount = nextNumber(),
    hold = nextNumber(),
    endMs = nextNumber(),
  }
end
local function capacityOf(limit) return math.max(1, limit) end
local function leakOf(rate) return rate.limit / windowsMs[rate.name] end
local function usedAt(levels, name, limit, leakPerMs)
  local stored = redis.call('HMGET', levels, name .. '.used', name .. '.at', name .. '.limit')
  local used, at = tonumber(stored[1]), tonumber(stored[2])
  if not used or not at then return 0 end
  -- The version before did not say of which limit.
  local before = tonumber(stored[3]) or limit
  used = used * math.min(1, limit / before)
  return math.max(0, used - math.max(0, now - at) * leakPerMs)
end
local function keep(claim, name, limit, used)
  local levels = claim.levels
  redis.call('HSET', levels, name .. '.used', exact(used), name .. '.at', exact(now), name .. '.limit', exact(limit))
  redis.call('PEXPIRE', levels, claim.keepMs)
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
local function reckonedAt(key, by, ownSpent, reported)
  local known, sum = reported, 0
  redis.call('HSET', key, by, exact(ownSpent) .. ' ' .. exact(now))
  local all = redis.call('HGETALL', key)
  for i = 1, #all, 2 do
    local number, at = string.match(all[i + 1], '(%S+) (%S+)')
    if all[i] == 'ledger' then known = math.max(known, tonumber(number))
    -- A process that was silent for this long: its spending is in the ledger's sums.
    elseif now - tonumber(at) > ${leaseMs} then redis.call('HDEL', key, all[i])
    else sum = sum + tonumber(number) end
  end
  redis.call('HSET', key, 'ledger', exact(known) .. ' ' .. exact(now))
  redis.call('PEXPIRE', key, ${leaseMs})
  return known, known + sum
end
local function keepBudget(levels, places, endMs, spent, held)
  redis.call('HSET', levels, 'spent', exact(spent), 'held', exact(held))
  local ms = ${budgetKeepMs.ofAllTime}
  if endMs then ms = math.max(0, endMs - now) + ${budgetKeepMs.afterEnd} end
  redis.call('PEXPIRE', levels, exact(math.floor(ms)))
  -- As long: whose lease is over is found there, and what it held goes with it.
  redis.call('PEXPIRE', places, exact(math.floor(ms)))
end

local calls = {}

-- Gives whether it is granted and the time, then for each claim how many are in flight and what was used of each limit that is asked,
-- then for each budget what was spent and held, and the ledger's sum plus all spending that the sum does not include.
function calls.reserve()
  local id, wanted, claims = nextText(), nextAmounts(), nextList(nextClaim)
  local by, budgets = nextText(), nextList(nextBudget)
  local granted = 1
  local answer = { '', exact(now) }
  for _, claim in ipairs(claims) do
    redis.call('ZREMRANGEBYSCORE', claim.places, '-inf', exact(now))
    local held = redis.call('ZCARD', claim.places)
    if id ~= '' and claim.placesMax and held >= claim.placesMax then granted = 0 end
    table.insert(answer, exact(held))
    for _, rate in ipairs(claim.rates) do
      rate.amount = math.min(wanted[rate.name], rate.limit)
      if rate.amount ~= 0 then
        rate.used = usedAt(claim.levels, rate.name, rate.limit, leakOf(rate))
        local capacity = capacityOf(rate.limit)
        local lack = rate.used + math.min(rate.amount, capacity) - capacity
        if lack > 1e-6 then granted = 0 end
        table.insert(answer, exact(rate.used))
      end
    end
  end
  for _, budget in ipairs(budgets) do
    local spent, held = budgetAt(budget.levels, budget.places)
    local known, reckoned = reckonedAt(budget.unseen, by, budget.ownSpent, budget.known)
    spent = math.max(spent, known)
    local judged = math.max(spent, reckoned)
    local others = math.max(held, budget.ownHeld)
    if judged >= budget.limit then granted = 0 end
    if others > 0 and judged + others + budget.amount > budget.limit then granted = 0 end
    budget.spent, budget.held = spent, held
    table.insert(answer, exact(spent))
    table.insert(answer, exact(held))
    table.insert(answer, exact(reckoned))
  end
  answer[1] = exact(granted)
  if granted == 0 then return answer end
  for _, budget in ipairs(budgets) do
    redis.call('ZADD', budget.places, exact(now + ${leaseMs}), id)
    redis.call('HSET', budget.levels, 'of.' .. id, exact(budget.hold))
    keepBudget(budget.levels, budget.places, budget.endMs, budget.spent, budget.held + budget.hold)
  end
  for _, claim in ipairs(claims) do
    for _, rate in ipairs(claim.rates) do
      if rate.used then keep(claim, rate.name, rate.limit, rate.used + rate.amount) end
    end
    if id ~= '' then
      redis.call('ZADD', claim.places, exact(now + ${leaseMs}), id)
      redis.call('PEXPIRE', claim.places, ${leaseMs})
    end
  end
  return answer
end

-- Gives what a reservation would, but for whether it is granted; nothing is written.
function calls.look()
  local _, wanted, claims = nextText(), nextAmounts(), nextList(nextClaim)
  local by, budgets = nextText(), nextList(nextBudget)
  local answer = { '0', exact(now) }
  for _, claim in ipairs(claims) do
    table.insert(answer, exact(redis.call('ZCOUNT', claim.places, '(' .. exact(now), '+inf')))
    for _, rate in ipairs(claim.rates) do
      if wanted[rate.name] ~= 0 then
        table.insert(answer, exact(usedAt(claim.levels, rate.name, rate.limit, leakOf(rate))))
      end
    end
  end
  for _, budget in ipairs(budgets) do
    local held = 0
    for _, id in ipairs(redis.call('ZRANGEBYSCORE', budget.places, '(' .. exact(now), '+inf')) do
      held = held + (tonumber(redis.call('HGET', budget.levels, 'of.' .. id)) or 0)
    end
    local known, sum = budget.known, budget.ownSpent
    local all = redis.call('HGETALL', budget.unseen)
    for j = 1, #all, 2 do
      local number, heardAt = string.match(all[j + 1], '(%S+) (%S+)')
      if all[j] == 'ledger' then known = math.max(known, tonumber(number))
      elseif all[j] ~= by and now - tonumber(heardAt) <= ${leaseMs} then sum = sum + tonumber(number) end
    end
    table.insert(answer, exact(math.max(tonumber(redis.call('HGET', budget.levels, 'spent')) or 0, known)))
    table.insert(answer, exact(held))
    table.insert(answer, exact(known + sum))
  end
  return answer
end

-- Gives the time.
function calls.settle()
  local id, reserved, used = nextText(), nextAmounts(), nextAmounts()
  for _, claim in ipairs(nextList(nextClaim)) do
    redis.call('ZREMRANGEBYSCORE', claim.places, '-inf', exact(now))
    if redis.call('ZREM', claim.places, id) == 1 then
      for _, rate in ipairs(claim.rates) do
        local change = used[rate.name] - math.min(reserved[rate.name], rate.limit)
        if change ~= 0 then
          local today = tonumber(redis.call('HGET', claim.levels, rate.name .. '.limit')) or rate.limit
          local times = today / rate.limit
          local before = usedAt(claim.levels, rate.name, today, leakOf(rate) * times)
          local by = change * math.min(1, times)
          local after = math.max(0, before + by)
          local most = capacityOf(rate.limit) * times * ${1 + owedMax}
          if by > 0 then after = math.max(before, math.min(before + by, most)) end
          keep(claim, rate.name, today, after)
        end
      end
    end
  end
  local by = nextText()
  for _ = 1, nextNumber() do
    local levels, places, unseen = nextKey(), nextKey(), nextKey()
    local endMs, cost, known, ownSpent = nextNumber(), nextNumber(), nextNumber(), nextNumber()
    if known then reckonedAt(unseen, by, ownSpent, known) end
    local spent, held = budgetAt(levels, places)
    if redis.call('ZREM', places, id) == 1 then
      local amount = tonumber(redis.call('HGET', levels, 'of.' .. id)) or 0
      redis.call('HDEL', levels, 'of.' .. id)
      keepBudget(levels, places, endMs, spent + cost, math.max(0, held - amount))
    end
  end
  return { exact(now) }
end

-- Gives the time.
function calls.renew()
  for _ = 1, nextNumber() do
    local places, id = nextKey(), nextText()
    redis.call('ZADD', places, exact(now + ${leaseMs}), id)
    if redis.call('PTTL', places) < ${leaseMs} then redis.call('PEXPIRE', places, ${leaseMs}) end
  end
  return { exact(now) }
end

local answers = {}
while textsRead < #ARGV do table.insert(answers, table.concat(calls[nextText()](), ' ')) end
return answers
`;
